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
        editor = try ConfigurationEditor(arguments)
        guard arguments.operands.count == 2 else { throw arguments.error("give \(arguments.command.operands ?? "")") }
        let name = arguments.operands[0]
        guard Remote.isName(name) else {
            throw arguments.error("'\(name.escapedForDisplay)' cannot be a name; take letters, digits, - and _")
        }
        let target = try PushTarget(arguments.operands[1], of: "the second operand", arguments)
        guard !target.server.hasPassword else {
            throw arguments.error("a password is not kept with an address; keep a token, with --token-file")
        }
        let key = try arguments[SecurityFlags.serverKey] ?? target.key
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
        if let key { settings.append((SecurityFlags.serverKey.flag.name, .string("\(key)"))) }
        if let path = arguments[SecurityFlags.tokenFile] {
            settings.append((SecurityFlags.tokenFile.flag.name, .string(path.absolutePath)))
        }
        if arguments[SecurityFlags.plaintext] { settings.append((SecurityFlags.plaintext.flag.name, .boolean(true))) }
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
            "Added '\(draft.name)', \(draft.address.escapedForDisplay). To push to it, write: transfer push FILE "
                + "\(draft.name):\n")
        return .success
    }
}

extension RemoteAddCommand: ProgramCommand {
    static let definition = Command(
        name: "remote add", summary: "Give a server a name.", operands: "NAME HOST[:PORT][/FOLDER]|URL|LINK",
        description: [
            Remote.about,
            "A name has letters, digits, - and _. With a folder, all pushes go below that folder.",
            "With a link that a server's operator gave you, transfer://... between single quotes, this user's key is let in "
                + "now: the server is connected to, and its address and key are kept. The link's code is worth nothing after "
                + "that. Nothing is kept when that fails.",
        ],
        flags: SecurityFlags.kept + [.insecurePermissions, .help],
        examples: [
            .init(
                caption: "Name a server that lets this user in already",
                line: "transfer remote add nas nas.local/photos"),
            .init(
                caption: "Come in by a link, then push",
                line: "transfer remote add home 'transfer://192.0.2.2:5288#code=pair_…,key=…'"),
            .init(
                caption: "Name a server and the token for it",
                line: "transfer remote add camera nas.local --token-file camera.token"),
        ],
        outcomes: Remote.outcomes + [.init(.unreachable), .init(.accessRefused), .init(.fault)])
}
