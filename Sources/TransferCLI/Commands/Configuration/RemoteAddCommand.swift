private import Glibc
private import TransferAccess
private import TransferClient
private import TransferKeys
private import TransferModel
private import TransferSystem

/// `transfer remote add`: adds a named server, and uses the code of a link.
struct RemoteAddCommand {
    private let editor: ConfigurationEditor
    private let draft: RemoteDraft
    private let enrolment: Enrolment?

    /// - Throws: `UsageError` for an invalid name or address.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        editor = try ConfigurationEditor(arguments)
        guard arguments.operands.count == 2 else { throw arguments.error("give \(arguments.command.operands ?? "")") }
        let name = arguments.operands[0]
        guard Remote.isName(name) else {
            throw arguments.error("'\(name.escapedForDisplay)' is not a valid name; use letters, digits, - and _")
        }
        let target = try PushTarget(arguments.operands[1], of: "the second operand", arguments)
        guard !target.server.hasPassword else {
            throw arguments.error("a remote's address cannot contain a password; use --token-file")
        }
        let key = try arguments[SecurityFlags.serverKey] ?? target.key
        guard target.key == nil || target.key == key else {
            throw arguments.error("--server-key differs from the key in the link")
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
            // The change is checked before the code in the link is used, because the code works only once.
            _ = try editor.adding(draft, to: editor.content())
        } catch {
            return AccessOutput.fail(error.message)
        }
        if let code = await enrolment?.run(), code != .success { return code }
        do throws(ConfigurationFault) {
            try editor.change { (content) throws(ConfigurationFault) in try editor.adding(draft, to: content) }
        } catch {
            let hint =
                enrolment == nil ? "" : "; the server accepts this user now: add \(draft.address) without the link"
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
        name: "remote add", summary: "Add a named server.", operands: "NAME HOST[:PORT][/FOLDER]|URL|LINK",
        description: [
            Remote.about,
            "A name consists of letters, digits, - and _. With a folder, all pushes go below that folder.",
            "With a link from a server's operator, transfer://... in single quotes, the command connects "
                + "to the server, which authorises this user's key; then its address and key are kept. The "
                + "link's code is invalid after that. Nothing is kept if that fails.",
        ],
        flags: SecurityFlags.kept + [.insecurePermissions, .help],
        examples: [
            .init(
                caption: "Add a server that already accepts this user",
                line: "transfer remote add nas nas.local/photos"),
            .init(
                caption: "Get access by a link, then push",
                line: "transfer remote add home 'transfer://192.0.2.2:5288#code=pair_…,key=…'"),
            .init(
                caption: "Add a server and the token for it",
                line: "transfer remote add camera nas.local --token-file camera.token"),
        ],
        outcomes: Remote.outcomes + [.init(.unreachable), .init(.accessRefused), .init(.fault)])
}
