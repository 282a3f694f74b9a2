private import Glibc
private import TransferAccess
private import TransferClient
private import TransferKeys
private import TransferModel
private import TransferSystem

/// `transfer remote add`: keeps a server by a name, and comes in by a link.
struct RemoteAddCommand {
    private let editor: ConfigurationEditor
    private let draft: RemoteDraft
    private let enrolment: Enrolment?

    /// - Throws: `UsageError` for what cannot be a remote.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        editor = try arguments.configurationEditor
        guard arguments.operands.count == 2 else { throw arguments.error("give \(arguments.command.operands ?? "")") }
        let name = arguments.operands[0]
        guard Remote.isName(name) else {
            throw arguments.error("'\(name.escapedForDisplay)' cannot be a name; take letters, digits, - and _")
        }
        let target = try PushTarget(arguments.operands[1], of: "the second operand", arguments)
        let key = try arguments.serverKey() ?? target.key
        guard target.key == nil || target.key == key else {
            throw arguments.error("--server-key is another key than that of the link")
        }
        enrolment = try Enrolment(target, key, arguments)
        draft = RemoteDraft(
            name: name, address: target.server.description, settings: Self.settings(arguments, key))
    }

    private static func settings(
        _ arguments: ParsedArguments, _ key: KeyFingerprint?
    ) -> [(key: String, value: TOMLValue)] {
        var settings: [(key: String, value: TOMLValue)] = []
        if let key { settings.append(("server-key", .string("\(key)"))) }
        if let path = arguments.string("token-file") { settings.append(("token-file", .string(path.absolutePath))) }
        if arguments.isSet("plaintext") { settings.append(("plaintext", .boolean(true))) }
        return settings
    }

    func run() async -> ExitCode {
        do throws(ConfigurationFault) {
            // Before anything is done that cannot be done again.
            _ = try editor.adding(draft, to: editor.content())
        } catch {
            return AccessOutput.fail(error.message)
        }
        if let code = await enrolment?.run(), code != .success { return code }
        do throws(ConfigurationFault) {
            try editor.change { (content) throws(ConfigurationFault) in try editor.adding(draft, to: content) }
        } catch {
            let hint =
                enrolment == nil ? "" : "; the server lets this user in already: add \(draft.address) without the link"
            return AccessOutput.fail(error.message + hint.escapedForDisplay)
        }
        StandardStream.error.write(
            "Added '\(draft.name)', \(draft.address.escapedForDisplay). Push to it with --to \(draft.name)\n")
        return .success
    }
}
