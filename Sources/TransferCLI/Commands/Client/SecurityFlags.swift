internal import TransferKeys
private import TransferModel

/// Flags that determine how clients and servers authenticate each other. All commands that connect to a server have
/// them.
enum SecurityFlags {
    static let all = [serverKey.flag, trustsNew.flag, tokenFile.flag, asksToken.flag, plaintext.flag]

    /// The flags that `transfer remote add` stores with a remote.
    static let kept = [serverKey.flag, tokenFile.flag, plaintext.flag]

    static let serverKey = FlagKey<KeyFingerprint?, UsageError>(
        Flag(
            name: "server-key", placeholder: "FINGERPRINT", help: "Accept only the server with this key.",
            details: "The fingerprint that the server logs when it starts: SHA256: and 43 characters.")
    ) { (arguments, flag) throws(UsageError) in
        guard let text = arguments[flag.text] else { return nil }
        guard let key = KeyFingerprint(text) else {
            throw arguments.error(
                "'\(text.escapedForDisplay)' is not a fingerprint; give SHA256: and 43 characters")
        }
        return key
    }

    static let trustsNew = Flag(
        name: "trust-new", help: "Trust an unknown server without asking, and remember its key.",
        details: "A known server whose key has changed is still refused."
    ).isOn

    static let tokenFile = Flag(
        name: "token-file", placeholder: "FILE", help: "Authenticate with the token in FILE.",
        details: "By default, the token in the variable TRANSFER_TOKEN is used. A token cannot be given as an "
            + "argument.", value: .file
    ).text

    static let asksToken = Flag(name: "ask-token", help: "Prompt for a token on the terminal.").isOn

    static let plaintext = Flag(
        name: "plaintext", help: "Connect without encryption, to a server that was started with --plaintext.",
        details:
            "Anyone on the network in between can then read and change everything."
    ).isOn
}
