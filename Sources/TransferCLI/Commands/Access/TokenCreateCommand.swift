private import TransferAccess
private import TransferSystem

/// `transfer access token create`: makes a token and prints it, once.
struct TokenCreateCommand {
    private let folder: AccessFolder
    private let name: String
    private let options: AccessOptions

    /// - Throws: `UsageError` without a name, or for bounds that cannot be.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.operands.isEmpty else { throw arguments.error("it takes no operands") }
        folder = try arguments.accessFolder
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
            if let failure = StandardStream.output.write(secret.text + "\n") {
                _ = try folder.revoke { $0.id == secret.id }
                throw AccessFault("The token cannot be printed, so it was taken back: \(failure.reason).")
            }
            StandardStream.error.write(
                "Keep it secret: whoever has it may push as '\(name)'. It is not shown again.\n"
                    + "To take it back: transfer access token revoke \(secret.id)\n")
            return .success
        }
    }
}
