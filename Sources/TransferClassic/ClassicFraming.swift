/// One of the wires of older programs; `docs/reference/dialects.md` lists them. The server, the client and the command
/// line know a framing only by this value: a new framing is a file in `Framings` with its conversation and a value of
/// this type, and a row of `standard`.
package struct ClassicFraming: Sendable {
    /// The name by which users choose the framing.
    package let name: String

    /// The port that is built into the programs of this framing; nil if they have none.
    package let defaultPort: UInt16?

    /// The number of bytes that each step on either side must be able to get at once: the size of the longest item that
    /// is only parsed as a whole.
    package let window: Int

    /// The options that users can set.
    package let options: [Option]

    /// The messages of the server to clients that have names and send to one another; nil if clients have no names.
    /// Such clients send signs of life as long as they run, so silence is a fault at any time.
    package let chat: (any ClassicChat.Type)?

    /// Whether our client can send compressed content.
    package let isCompressible: Bool

    private let makeConversation: @Sendable () -> any ClassicConversation
    private let makeClient: (@Sendable (ClassicParty) -> any ClassicClient)?

    /// - Parameters:
    ///   - conversation: makes the server's side of a connection.
    ///   - client: makes the client's side; nil if this program has none.
    package init(
        _ name: String, port: UInt16? = nil, window: Int, options: [Option] = [], chat: (any ClassicChat.Type)? = nil,
        isCompressible: Bool = false, conversation: @escaping @Sendable () -> any ClassicConversation,
        client: (@Sendable (ClassicParty) -> any ClassicClient)?
    ) {
        (self.name, defaultPort, self.window, self.options) = (name, port, window, options)
        (self.chat, self.isCompressible, makeConversation, makeClient) = (chat, isCompressible, conversation, client)
    }

    package var isChat: Bool { chat != nil }

    /// Whether this program has a client for the framing.
    package var hasClient: Bool { makeClient != nil }

    /// The server's side of one connection.
    package func conversation() -> any ClassicConversation { makeConversation() }

    /// The client's side of one connection; nil if this program has none.
    package func client(_ party: ClassicParty = ClassicParty()) -> (any ClassicClient)? { makeClient?(party) }
}

/// The user's choices for the client's side of a framing.
package struct ClassicParty: Sendable {
    /// The name of the client, if the framing carries it: UTF-8 of 1 to 255 bytes without NUL.
    package let sender: String

    /// The name of the recipient, if the framing carries it: as `sender`, or empty for no recipient.
    package let recipient: String

    /// Whether to compress content that becomes smaller; for framings that are `isCompressible`.
    package let isCompressed: Bool

    package init(sender: String = "transfer", recipient: String = "", isCompressed: Bool = false) {
        (self.sender, self.recipient, self.isCompressed) = (sender, recipient, isCompressed)
    }
}

// MARK: The table

extension ClassicFraming {
    /// The framings of the known programs, each with its default options.
    package static let standard: [ClassicFraming] = [header7, sized(), tagged37, jsonline, text]

    /// An option that users can set, such as `total=content`.
    package struct Option: Sendable {
        package let name: String

        /// The non-default value, and when to choose it: `total=content where …`.
        package let help: String

        /// The possible values, each with the framing that it selects.
        fileprivate let values: [(name: String, framing: @Sendable () -> ClassicFraming)]

        package init(
            _ name: String, help: String, values: [(name: String, framing: @Sendable () -> ClassicFraming)]
        ) {
            (self.name, self.help, self.values) = (name, help, values)
        }
    }

    /// An unknown name, option or value, described by a sentence.
    package struct Fault: Error, Equatable, Sendable {
        package let message: String
    }

    /// Looks up a framing by its name.
    ///
    /// - Parameters:
    ///   - options: of two options with one name, the last one counts.
    ///   - table: the known framings.
    /// - Throws: `Fault` for an unknown name, option or value.
    package init(
        name: String, options: [(name: String, value: String)] = [], in table: [ClassicFraming] = standard
    ) throws(Fault) {
        guard let framing = table.first(where: { $0.name == name }) else {
            throw Fault(
                message: "There is no framing '\(name)'; there are \(table.map(\.name).joined(separator: ", ")).")
        }
        self = framing
        for option in options { try set(option.name, option.value) }
    }

    private mutating func set(_ name: String, _ value: String) throws(Fault) {
        guard let option = options.first(where: { $0.name == name }) else {
            throw Fault(message: "The framing \(self.name) has no option '\(name)'.")
        }
        guard let chosen = option.values.first(where: { $0.name == value }) else {
            let values = option.values.map(\.name).joined(separator: " or ")
            throw Fault(message: "The option '\(name)' of \(self.name) is \(values).")
        }
        self = chosen.framing()
    }
}
