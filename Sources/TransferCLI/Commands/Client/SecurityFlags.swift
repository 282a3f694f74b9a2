internal import TransferKeys
private import TransferModel

/// How commands make sure of the server, and show it who asks: the same for all that talk to one.
enum SecurityFlags {
    static let all = [serverKey.flag, trustsNew.flag, tokenFile.flag, asksToken.flag, plaintext.flag]

    /// What is worth keeping with the address of a remote.
    static let kept = [serverKey.flag, tokenFile.flag, plaintext.flag]

    static let serverKey = FlagKey<KeyFingerprint?, UsageError>(
        Flag(
            name: "server-key", placeholder: "FINGERPRINT", help: "Talk to the server with this key and to no other.",
            details: "As the server logs it when it starts: SHA256: and 43 characters.")
    ) { (arguments, flag) throws(UsageError) in
        guard let text = arguments[flag.text] else { return nil }
        guard let key = KeyFingerprint(text) else {
            throw arguments.error(
                "'\(text.escapedForDisplay)' is not a fingerprint; give SHA256: and 43 characters")
        }
        return key
    }

    static let trustsNew = Flag(
        name: "trust-new", help: "Trust an unknown server, now and from now on, without asking.",
        details: "A known server whose key has changed is refused all the same."
    ).isOn

    static let tokenFile = Flag(
        name: "token-file", placeholder: "FILE", help: "Show the server the token in FILE.",
        details: "Without it, the one in the variable TRANSFER_TOKEN. A token is never an argument.", value: .file
    ).text

    static let asksToken = Flag(name: "ask-token", help: "Ask for a token at the terminal.").isOn

    static let plaintext = Flag(
        name: "plaintext", help: "Talk without encryption, to a server that was started with --plaintext.",
        details:
            "Who can reach the network between can then read and change everything."
    ).isOn
}
