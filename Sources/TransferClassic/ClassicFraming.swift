/// One of the wires that programs from before this protocol speak; `docs/reference/dialects.md` describes them. The server, the client
/// and the command line know a framing by this value alone: another one is a file in `Framings`, with what the framing says
/// and a value of this type, and a row of `standard`.
package struct ClassicFraming: Sendable {
    /// The name that people choose it by.
    package let name: String

    /// The port that its programs have built in, where there is one.
    package let defaultPort: UInt16?

    /// Bytes that must be shown at once for each step to be taken, on both sides: the longest thing that is only taken whole.
    package let window: Int

    /// What people can choose about it.
    package let options: [Option]

    /// What the server says to clients that have names and send to one another; nil where they have none. Such clients say
    /// that they are there as long as they are, so silence of any of them is a fault at any time.
    package let chat: (any ClassicChat.Type)?

    /// Whether this client can send content compressed.
    package let isCompressible: Bool

    private let makeConversation: @Sendable () -> any ClassicConversation
    private let makeClient: (@Sendable (ClassicParty) -> any ClassicClient)?

    /// - Parameters:
    ///   - conversation: makes the server's side of a connection.
    ///   - client: makes the client's side; nil where this program has none.
    package init(
        _ name: String, port: UInt16? = nil, window: Int, options: [Option] = [], chat: (any ClassicChat.Type)? = nil,
        isCompressible: Bool = false, conversation: @escaping @Sendable () -> any ClassicConversation,
        client: (@Sendable (ClassicParty) -> any ClassicClient)?
    ) {
        (self.name, defaultPort, self.window, self.options) = (name, port, window, options)
        (self.chat, self.isCompressible, makeConversation, makeClient) = (chat, isCompressible, conversation, client)
    }

    package var isChat: Bool { chat != nil }

    /// Whether `client` makes one.
    package var hasClient: Bool { makeClient != nil }

    /// The server's side of one connection.
    package func conversation() -> any ClassicConversation { makeConversation() }

    /// The client's side of one connection; nil where this program has none.
    package func client(_ party: ClassicParty = ClassicParty()) -> (any ClassicClient)? { makeClient?(party) }
}

/// What a person has chosen for the client's side of a framing.
package struct ClassicParty: Sendable {
    /// What the client calls itself, where the framing says it: UTF-8 of 1 to 255 bytes without NUL.
    package let sender: String

    /// Whom uploads are for, where the framing says it: the same, or empty.
    package let recipient: String

    /// Whether content that shrinks is sent compressed; for framings that are `isCompressible`.
    package let isCompressed: Bool

    package init(sender: String = "transfer", recipient: String = "", isCompressed: Bool = false) {
        (self.sender, self.recipient, self.isCompressed) = (sender, recipient, isCompressed)
    }
}

// MARK: The table

extension ClassicFraming {
    /// What the programs speak that there are, each with its usual options.
    package static let standard: [ClassicFraming] = [header7, sized(), tagged37, jsonline, text]

    /// Something that people can choose, as `total=content`.
    package struct Option: Sendable {
        package let name: String

        /// The value to choose where it isn't the usual one, and when: `total=content where …`.
        package let help: String

        /// The values that there are, each with the framing that it makes.
        fileprivate let values: [(name: String, framing: @Sendable () -> ClassicFraming)]

        package init(
            _ name: String, help: String, values: [(name: String, framing: @Sendable () -> ClassicFraming)]
        ) {
            (self.name, self.help, self.values) = (name, help, values)
        }
    }

    /// What cannot be made of a name and options; a sentence.
    package struct Fault: Error, Equatable, Sendable {
        package let message: String
    }

    /// The framing of that name.
    ///
    /// - Parameters:
    ///   - options: the last of two with one name counts.
    ///   - table: the framings that there are.
    /// - Throws: `Fault` for another name, option or value.
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
