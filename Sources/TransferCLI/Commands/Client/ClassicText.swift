internal import TransferClassic
internal import TransferIO
private import TransferModel

/// The value of `--classic`, split into its parts: `FIRST[,OPTION=VALUE]...`.
struct ClassicText {
    private let text: String

    /// The part before the options: a framing, followed for a server by `=ADDRESS`.
    let first: String

    private let rest: [String]

    init(_ text: String) {
        self.text = text
        let parts = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map {
            String(Substring($0))
        }
        (first, rest) = (parts[0], Array(parts.dropFirst()))
    }

    /// The parts before and after the first `=`; nil if the text has none.
    static func split(_ text: String) -> (name: String, value: String)? {
        guard let place = text.utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        return (String(Substring(text.utf8[..<place])), String(Substring(text.utf8[place...].dropFirst())))
    }

    func options(_ arguments: ParsedArguments) throws(UsageError) -> [(name: String, value: String)] {
        var options: [(name: String, value: String)] = []
        for part in rest {
            guard let option = Self.split(part) else {
                throw fault("'\(part.escapedForDisplay)' is not of the form OPTION=VALUE", arguments)
            }
            options.append(option)
        }
        return options
    }

    func framing(
        _ name: String, _ options: [(name: String, value: String)], _ arguments: ParsedArguments
    ) throws(UsageError) -> ClassicFraming {
        do throws(ClassicFraming.Fault) {
            return try ClassicFraming(name: name, options: options)
        } catch {
            throw fault(error.message, arguments)
        }
    }

    func fault(_ reason: String, _ arguments: ParsedArguments) -> UsageError {
        arguments.error("--classic '\(text.escapedForDisplay)': \(reason)")
    }
}

extension ClassicFraming {
    /// The names of framings for messages: `header7, sized`.
    static func names(_ framings: [ClassicFraming]) -> String { framings.map(\.name).joined(separator: ", ") }

    /// The options of framings, for the help: `for sized total=content where …, and answer=no where …`.
    static func choices(_ framings: [ClassicFraming]) -> String {
        framings.filter { !$0.options.isEmpty }
            .map { "for \($0.name) \($0.options.map(\.help).joined(separator: ", and "))" }.joined(separator: ", ")
    }

    /// The names of framings whose clients have names.
    static let chats = names(standard.filter(\.isChat))

    /// Reads an address.
    ///
    /// - Returns: nil if the text is not an address, or has no port and the framing has no default port.
    func endpoint(_ text: String) -> Endpoint? {
        guard !text.utf8.contains(UInt8(ascii: "/")) || text.utf8.starts(with: "unix:".utf8) else { return nil }
        if let port = defaultPort { return Endpoint(text, defaultPort: port) }
        guard let endpoint = Endpoint(text, defaultPort: 0), endpoint == Endpoint(text, defaultPort: 1) else {
            return nil
        }
        return endpoint
    }
}
