internal import TransferModel

/// Reads what a server says to a client in messages, whatever carries them.
package struct MessageAnswers<Framing: MessageFraming>: Sendable {
    private var framing = Framing()

    package init() {}

    /// Takes one step, by the rules of `ClassicConversation.next`.
    ///
    /// - Throws: `ClassicFault`, also `unexpectedFrame` for what only a client sends.
    package mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> (answer: MessageAnswer, consumed: Int) {
        let (found, consumed) = try framing.next(bytes)
        switch found {
        case .needsMore: return (.needsMore, 0)
        case .nothing: return (.nothing, consumed)
        case .message(let function, let json): return (try Self.answer(function, json), consumed)
        }
    }

    private static func answer(_ function: MessageFunction, _ json: [UInt8]) throws(ClassicFault) -> MessageAnswer {
        let object = try ClassicObject(json, of: function)
        let id = try object.number("id", in: 0...ClassicLimits.id)
        switch function {
        case .ping: return .reply(Framing.encode(.pong, .pong(id)) ?? [])
        case .pong: return .nothing
        case .goodbye: return .close
        case .result:
            guard let id else { throw object.fault("The result has no id.") }
            return .result(id: id, try ClassicResult(object))
        case .begin, .chunk, .end, .abort, .text:
            throw object.fault("A server sent what only a client does.", .unexpectedFrame)
        }
    }
}

/// What a server says to a client in messages.
package enum MessageAnswer: Equatable, Sendable {
    /// The bytes end before the next message is complete; nothing was consumed.
    case needsMore
    /// A sign of life, or bytes that are skipped.
    case nothing
    /// Something to send: the answer to a ping.
    case reply([UInt8])
    /// What became of an upload: its id, or 0 when it is about the whole conversation, which then ends.
    case result(id: UInt64, ClassicResult)
    /// The server is done.
    case close
}

/// What servers of `header7` say.
package typealias Header7Answers = MessageAnswers<Header7Framing>

/// What servers of `tagged37` say.
package typealias Tagged37Answers = MessageAnswers<Tagged37Framing>
