private import TransferAccess
private import TransferModel
private import TransferSystem

/// `transfer access token create`: creates a token and prints it, once.
struct TokenCreateCommand {
    private let place: AccessPlace
    private let name: String
    private let options: AccessOptions
    private let isJSON: Bool

    /// - Throws: `UsageError` without a name, or for an invalid limit.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.operands.isEmpty else { throw arguments.error("it takes no operands") }
        place = AccessPlace(arguments)
        isJSON = arguments[AccessFlags.issuedJSON]
        guard let name = try arguments[Self.name] else { throw arguments.error("'--name' is required") }
        self.name = name
        var options = try AccessFlags.options(arguments)
        options.expires = try arguments[AccessFlags.expires]
        self.options = options
    }

    func run() -> ExitCode {
        AccessOutput.run { () throws(AccessFault) in
            let lists = try place.open()
            try lists.make()
            let others = try lists.tokens.get().entries.filter {
                $0.kind == .token && $0.name.hasSameBytes(as: name)
            }
            let secret = try lists.issue(.token, name: name, options: options, at: .now)
            let object = AccessOutput.json("token", secret.id, name, options, secret: secret.text)
            if let failure = StandardStream.output.write((isJSON ? object.text : secret.text) + "\n") {
                _ = try lists.revoke { $0.id == secret.id }
                throw AccessFault("The token cannot be printed, so it was revoked: \(failure.reason).")
            }
            guard !isJSON else { return .success }
            StandardStream.error.write(
                "Keep it secret: anyone who has it may, as '\(name)', \(AccessOutput.sentence(options)). "
                    + "It is not shown again.\nTo revoke it: transfer access token revoke \(secret.id)\n")
            if !others.isEmpty {
                let ids = others.map(\.id).joined(separator: ", ")
                StandardStream.error.write(
                    "'\(name)' is the name of \(others.count == 1 ? "another token" : "other tokens"), "
                        + "too: \(ids). Lists and 'revoke' tell them apart by their IDs.\n")
            }
            return .success
        }
    }
}

extension TokenCreateCommand: ProgramCommand {
    private static let name = AccessFlags.name("Name of the token in lists, logs and receipts.")

    static let definition = Command(
        name: "access token create", summary: "Create a token for a device or a script.",
        description: [
            "Prints, once, a secret that gives access to anyone who has it; the server keeps only a hash "
                + "of it. Clients read it from a file, the environment or a prompt, and send it only over TLS. "
                + "A file that every user can read is refused."
        ],
        flags: AccessPlace.flags + [name.flag] + AccessFlags.bounds + [
            AccessFlags.noRemove.flag, AccessFlags.expires.flag, AccessFlags.issuedJSON.flag, .insecurePermissions,
            .help,
        ],
        examples: [
            .init(
                caption: "Create a token for a camera, for a month",
                line: "transfer access token create --name camera --expires 30d")
        ],
        outcomes: AccessFlags.outcomes)
}
