internal import TransferAccess
internal import TransferClassic
private import TransferIO
private import TransferModel
internal import TransferServer

/// Flags of `transfer serve` that concern clients of older protocols.
enum ClassicFlags {
    static let listeners = Flag(
        name: "classic", placeholder: "NAME=ADDRESS", help: "Also accept clients that speak a classic framing.",
        details: details(of: ClassicFraming.standard)
    ).texts

    static let folder = Flag(
        name: "classic-folder", placeholder: "FOLDER",
        help: "The folder within the directory for clients of --classic that name none."
    ).text

    /// - Parameter framings: the framings that can be served.
    static func details(of framings: [ClassicFraming]) -> String {
        "NAME is \(ClassicFraming.names(framings)). Options may follow the address, each after a comma: "
            + "folder=, quota=, max-files=, max-upload= as in 'transfer access add', "
            + "\(ClassicFraming.choices(framings)), and for \(ClassicFraming.chats) people=alice+bob, names in "
            + "the lists that its clients, who cannot prove any, may use. May be given several times. These "
            + "framings have no encryption and no keys: on addresses that other machines can reach they need "
            + "--allow-insecure. See docs/reference/dialects.md."
    }

    /// The listeners that the flags give.
    ///
    /// - Throws: `UsageError` for an invalid listener.
    static func listeners(_ arguments: ParsedArguments) throws(UsageError) -> [ClassicListener] {
        var made: [ClassicListener] = []
        for text in arguments[listeners] {
            let listener = try ListenerText(text).listener(folder: arguments[folder], arguments)
            guard !made.contains(where: { $0.mark == listener.mark }) else {
                throw arguments.error("--classic '\(text.escapedForDisplay)' is given twice")
            }
            made.append(listener)
        }
        return made
    }
}

/// The value of `--classic`, split into its parts: `NAME=ADDRESS[,OPTION=VALUE]...`.
private struct ListenerText {
    private static let accessOptions = ["folder", "quota", "max-files", "max-upload"]
    private static let peopleOption = "people"

    private let text: ClassicText
    private let name: String
    private let address: String

    init(_ text: String) {
        self.text = ClassicText(text)
        (name, address) = ClassicText.split(self.text.first) ?? (self.text.first, "")
    }

    /// - Parameter folder: the folder of a listener whose value names no folder.
    func listener(folder: String?, _ arguments: ParsedArguments) throws(UsageError) -> ClassicListener {
        guard !address.isEmpty else {
            throw text.fault("must be NAME=ADDRESS, such as sized=127.0.0.1:5289", arguments)
        }
        let options = try text.options(arguments)
        let own = options.filter { !Self.accessOptions.contains($0.name) && $0.name != Self.peopleOption }
        let framing = try text.framing(name, own, arguments)
        let people = try people(options, framing, arguments)
        guard let endpoint = framing.endpoint(address) else {
            throw text.fault(
                "'\(address.escapedForDisplay)' is not an address to listen on; give HOST:PORT or unix:PATH", arguments)
        }
        var access: [(name: String, value: String?)] = options.filter { Self.accessOptions.contains($0.name) }
            .map { ($0.name, $0.value) }
        if let folder, !access.contains(where: { $0.name == "folder" }) { access.append(("folder", folder)) }
        do throws(AccessFault) {
            return ClassicListener(framing, on: endpoint, try AccessOptions(access), people: people)
        } catch {
            throw text.fault(error.message, arguments)
        }
    }

    /// Names in the access lists that clients may use without proving that the name is theirs.
    private func people(
        _ options: [(name: String, value: String)], _ framing: ClassicFraming, _ arguments: ParsedArguments
    ) throws(UsageError) -> [String] {
        let values = options.filter { $0.name == Self.peopleOption }.map(\.value)
        guard let value = values.last else { return [] }
        guard framing.isChat, values.count == 1 else {
            throw text.fault("'people' may be given once, and only for \(ClassicFraming.chats)", arguments)
        }
        let people = value.utf8.split(separator: UInt8(ascii: "+"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard people.allSatisfy({ !$0.isEmpty && $0.escapedForDisplay == $0 }) else {
            throw text.fault("'people' needs names separated by +", arguments)
        }
        return people
    }
}
