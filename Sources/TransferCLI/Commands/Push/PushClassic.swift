private import Glibc
private import TransferAccess
internal import TransferClassic
internal import TransferClient
internal import TransferIO
internal import TransferModel

/// `transfer push --classic`: the framing and the address of a server that speaks an older protocol.
struct PushClassic {
    static let framing = Flag(
        name: "classic", placeholder: "NAME", help: "Push to a server that speaks a classic framing.",
        details: details(of: spoken)
    ).text

    static let recipient = Flag(
        name: "for", placeholder: "NAME", help: "Deliver to NAME only, and not to a folder.",
        details:
            "NAME is one of the people that 'transfer people' lists. Separate several by commas, or "
            + "repeat --for; \\, is a comma in a name. The upload waits on the server until each of them "
            + "has received it: see 'transfer sent'. With --classic \(ClassicFraming.chats), the one "
            + "client that the server forwards it to.",
        value: .person
    ).texts

    static let sender = Flag(
        name: "as", placeholder: "WHO", help: "Name of this client, with --classic \(ClassicFraming.chats).",
        details: "USER@HOST if not given. A server hands what is addressed to a name to any client that uses it."
    ).text

    static let flags = [framing.flag, recipient.flag, sender.flag]

    private static let spoken = ClassicFraming.standard.filter(\.hasClient)

    /// - Parameter framings: the framings that push supports.
    static func details(of framings: [ClassicFraming]) -> String {
        "NAME is \(ClassicFraming.names(framings)), followed by options, each after a comma: "
            + "\(ClassicFraming.choices(framings)). Needs --to HOST:PORT and, for another machine, "
            + "--plaintext: these framings have no encryption. Answers of such a server are printed as they "
            + "are: see docs/reference/dialects.md."
    }

    let target: ClassicTarget
    let server: ServerAddress

    /// - Returns: nil without `--classic`.
    /// - Throws: `UsageError` for flags that such a server does not support.
    init?(_ arguments: ParsedArguments, _ configuration: ClientConfiguration) throws(UsageError) {
        guard let text = arguments[Self.framing] else {
            guard !arguments.isSet(Self.sender.flag) else {
                throw arguments.error(
                    "\(arguments.source(of: Self.sender.flag)) needs --classic \(ClassicFraming.chats)")
            }
            return nil
        }
        let framing = try Self.framing(text, arguments)
        try Self.check(arguments, configuration)
        server = try Self.server(framing, arguments)
        let isPlaintext = arguments[SecurityFlags.plaintext]
        guard isPlaintext || server.endpoint.mayBeLocal else {
            throw arguments.error(
                "\(framing.name) has no encryption; on a network that you trust, push with --plaintext")
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
            throw text.fault("push supports only \(ClassicFraming.names(spoken))", arguments)
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
                "'\(text.escapedForDisplay)' is not an address of a \(framing.name) server; give \(form) "
                    + "or unix:PATH, without a folder")
        }
        return ServerAddress(endpoint, folder: "")
    }

    private static func recipient(
        _ framing: ClassicFraming, _ arguments: ParsedArguments
    ) throws(UsageError) -> String {
        guard framing.isChat else {
            for flag in [recipient.flag, sender.flag] where arguments.isSet(flag) {
                throw arguments.error("\(arguments.source(of: flag)) needs --classic \(ClassicFraming.chats)")
            }
            return ""
        }
        guard let name = arguments[recipient].last else {
            throw arguments.error("--classic \(framing.name) needs --for NAME: its servers forward what they receive")
        }
        return try client(name, recipient.flag, arguments)
    }

    private static func sender(_ arguments: ParsedArguments) throws(UsageError) -> String {
        if let name = arguments[sender] { return try client(name, sender.flag, arguments) }
        let user = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? "transfer"
        return String(decoding: "\(user)@\(ClientKey.hostName)".utf8.prefix(longestUserName), as: UTF8.self)
    }

    /// The most bytes of a name that the user did not choose. Replacing invalid UTF-8 can make the name longer, so this
    /// is below the limit of the protocol.
    private static let longestUserName = 64

    private static func client(
        _ name: String, _ flag: Flag, _ arguments: ParsedArguments
    ) throws(UsageError) -> String {
        guard (1...Limits.sender).contains(name.utf8.count), !name.utf8.contains(0) else {
            throw arguments.error("\(arguments.source(of: flag)) must be a name of 1 to \(Limits.sender) bytes")
        }
        return name
    }
}
