private import TransferAccess
private import TransferModel
private import TransferSystem

/// `transfer access token create`: makes a token and prints it, once.
struct TokenCreateCommand {
    private let folder: AccessFolder
    private let name: String
    private let options: AccessOptions
    private let isJSON: Bool

    /// - Throws: `UsageError` without a name, or for bounds that cannot be.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.operands.isEmpty else { throw arguments.error("it takes no operands") }
        folder = try arguments.accessFolder
        isJSON = arguments.isSet("json")
        name = try arguments.accessName(try arguments.requiredString("name"))
        let now = UTCTime.now
        var options = try arguments.accessOptions(at: now)
        options.expires = try arguments.expiry(at: now)
        self.options = options
    }

    func run() -> ExitCode {
        AccessOutput.run { () throws(AccessFault) in
            try folder.make()
            let secret = try folder.issue(.token, name: name, options: options, at: .now)
            let object = AccessOutput.json("token", secret.id, name, options, secret: secret.text)
            if let failure = StandardStream.output.write((isJSON ? object.text : secret.text) + "\n") {
                _ = try folder.revoke { $0.id == secret.id }
                throw AccessFault("The token cannot be printed, so it was taken back: \(failure.reason).")
            }
            guard !isJSON else { return .success }
            StandardStream.error.write(
                "Keep it secret: whoever has it may, as '\(name)', \(AccessOutput.sentence(options)). It is not shown "
                    + "again.\n"
                    + "To take it back: transfer access token revoke \(secret.id)\n")
            return .success
        }
    }
}
