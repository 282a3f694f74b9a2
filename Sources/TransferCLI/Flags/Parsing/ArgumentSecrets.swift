private import TransferAccess

/// Keeps access tokens out of arguments, which every user of the machine can read (proc_pid_cmdline(5)).
enum ArgumentSecrets {
    /// - Throws: `UsageError` if an argument is or contains a token.
    static func refuse(in arguments: [String]) throws(UsageError) {
        for argument in arguments {
            guard let token = secrets(in: argument).first(where: { $0.kind == .token }) else { continue }
            throw UsageError(
                "an access token was given as an argument, which every user of this machine can read; "
                    + "revoke it with 'transfer access token revoke \(token.id)', and give a new one with "
                    + "--token-file, --ask-token or TRANSFER_TOKEN")
        }
    }

    /// Whether a text contains a token or a pairing code.
    static func isSecret(in text: String) -> Bool { !secrets(in: text).isEmpty }

    private static func secrets(in text: String) -> [AccessSecret] {
        text.utf8.split { !isDigit($0) }.compactMap { AccessSecret(String(decoding: $0, as: UTF8.self)) }
    }

    /// Whether a byte is allowed in a token.
    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
