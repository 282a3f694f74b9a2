private import TransferModel

/// `transfer remote remove`: removes a named server.
struct RemoteRemoveCommand {
    private let editor: ConfigurationEditor
    private let name: String

    /// - Throws: `UsageError` unless there is one operand.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        editor = try ConfigurationEditor(arguments)
        name = try arguments.onlyOperand("NAME")
    }

    func run() -> ExitCode {
        var isThere = false
        do throws(ConfigurationFault) {
            try editor.change { (content) throws(ConfigurationFault) in
                let changed = try editor.removing(name, from: content)
                isThere = changed != nil
                return changed
            }
        } catch {
            return AccessOutput.fail(error.message)
        }
        return isThere ? .success : AccessOutput.fail("There is no remote '\(name.escapedForDisplay)'.")
    }
}

extension RemoteRemoveCommand: ProgramCommand {
    static let definition = Command(
        name: "remote remove", summary: "Remove a named server.", operands: "NAME",
        description: [Remote.about, "The server still accepts this user, and its key remains known."],
        flags: [.insecurePermissions, .help],
        examples: [.init(caption: "Remove a remote", line: "transfer remote remove nas")], outcomes: Remote.outcomes,
        operandValue: .remote)
}
