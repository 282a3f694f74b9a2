private import Glibc
private import TransferAccess
internal import TransferClassic
internal import TransferClient
internal import TransferIO
internal import TransferModel

/// `transfer push --classic`: what is spoken to a server from before this protocol, and where it is.
struct PushClassic {
    static let framing = Flag(
        name: "classic", placeholder: "NAME", help: "Push to a server that speaks a classic framing.",
        details: details(of: spoken)
    ).text

    static let recipient = Flag(
        name: "for", placeholder: "NAME", help: "The people that it is for: they get it, and no one else does.",
        details:
            "People of the server's lists, as 'transfer people' shows them; several with commas between them, or by several "
            + "--for, and \\, stands for a comma in a name. It waits on the server until each of them has received it: see "
            + "'transfer sent'. With --classic \(ClassicFraming.chats), the one client that the server hands it on to.",
        value: .person
    ).texts

    static let sender = Flag(
        name: "as", placeholder: "WHO", help: "What this client calls itself, with --classic \(ClassicFraming.chats).",
        details: "USER@HOST when not given. A server gives what has come for that name to whoever uses it."
    ).text

    static let flags = [framing.flag, recipient.flag, sender.flag]

    private static let spoken = ClassicFraming.standard.filter(\.hasClient)

    /// - Parameter framings: those that push speaks.
    static func details(of framings: [ClassicFraming]) -> String {
        "NAME is \(ClassicFraming.names(framings)). Behind it may follow, each after a comma: "
            + "\(ClassicFraming.choices(framings)). It needs --to HOST:PORT, and beyond this machine --plaintext: these "
            + "framings know no encryption. What such a server says is told as it is: see docs/reference/dialects.md."
    }

    let target: ClassicTarget
    let server: ServerAddress

    /// - Returns: nothing where no classic framing is asked for.
    /// - Throws: `UsageError` for what such a server cannot do.
    init?(_ arguments: ParsedArguments, _ configuration: ClientConfiguration) throws(UsageError) {
        guard let text = arguments[Self.framing] else {
            guard !arguments.isSet(Self.sender.flag) else {
                throw arguments.error(
                    "\(arguments.source(of: Self.sender.flag)) is for --classic \(ClassicFraming.chats)")
            }
            return nil
        }
        let framing = try Self.framing(text, arguments)
        try Self.check(arguments, configuration)
        server = try Self.server(framing, arguments)
        let isPlaintext = arguments[SecurityFlags.plaintext]
        guard isPlaintext || server.endpoint.mayBeLocal else {
            throw arguments.error(
                "\(framing.name) knows no encryption; where nobody can listen in, push with --plaintext")
        }
        target = ClassicTarget(
            framing,
            as: ClassicParty(
                sender: try Self.sender(arguments), recipient: try Self.recipient(framing, arguments),
                isCompressed: try Self.compresses(framing, arguments, configuration)),
            isBeyondThisMachine: isPlaintext)
    }

    func apply(to configuration: inout ClientConfiguration) {
        configuration.classic = target
        configuration.security = .plaintext
    }

    private static func framing(_ text: String, _ arguments: ParsedArguments) throws(UsageError) -> ClassicFraming {
        let text = ClassicText(text)
        let framing = try text.framing(text.first, try text.options(arguments), arguments)
        guard framing.hasClient else {
            throw text.fault("push speaks \(ClassicFraming.names(spoken))", arguments)
        }
        return framing
    }

    private static func server(
        _ framing: ClassicFraming, _ arguments: ParsedArguments
    ) throws(UsageError) -> ServerAddress {
        guard arguments.isSet(PushFlags.to) else { throw arguments.error("--classic needs --to HOST:PORT") }
        let text = arguments[PushFlags.to]
        guard let endpoint = framing.endpoint(text) else {
            let form = framing.defaultPort == nil ? "HOST:PORT" : "HOST[:PORT]"
            throw arguments.error(
                "'\(text.escapedForDisplay)' is not where a server of \(framing.name) can be; give \(form) or unix:PATH, "
                    + "without a folder")
        }
        return ServerAddress(endpoint, folder: "")
    }

    private static func recipient(
        _ framing: ClassicFraming, _ arguments: ParsedArguments
    ) throws(UsageError) -> String {
        guard framing.isChat else {
            for flag in [recipient.flag, sender.flag] where arguments.isSet(flag) {
                throw arguments.error("\(arguments.source(of: flag)) is for --classic \(ClassicFraming.chats)")
            }
            return ""
        }
        guard let name = arguments[recipient].last else {
            throw arguments.error("--classic \(framing.name) needs --for WHO: its servers hand on what they get")
        }
        return try client(name, recipient.flag, arguments)
    }

    private static func sender(_ arguments: ParsedArguments) throws(UsageError) -> String {
        if let name = arguments[sender] { return try client(name, sender.flag, arguments) }
        let user = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? "transfer"
        return String(decoding: "\(user)@\(ClientKey.hostName)".utf8.prefix(longestUserName), as: UTF8.self)
    }

    /// Bytes of a name that is made here: room is left for what is no UTF-8 and grows.
    private static let longestUserName = 64

    private static func client(
        _ name: String, _ flag: Flag, _ arguments: ParsedArguments
    ) throws(UsageError) -> String {
        guard (1...Limits.sender).contains(name.utf8.count), !name.utf8.contains(0) else {
            throw arguments.error("\(arguments.source(of: flag)) is a name of 1 to \(Limits.sender) bytes")
        }
        return name
    }
}
