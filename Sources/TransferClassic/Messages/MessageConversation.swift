internal import TransferModel

/// The server's side of a conversation in messages, in any framing.
package struct MessageConversation<Framing: MessageFraming>: ClassicConversation {
    private var framing = Framing()
    private var uploads = MessageUploads()

    /// The remaining steps of the last message, in reverse order.
    private var pending: [ClassicStep] = []

    package let hasDigests = true

    package var isBetweenMessages: Bool {
        pending.isEmpty && uploads.open == nil && framing.isBetweenMessages
    }

    package init() {}

    package mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> ClassicProgress {
        if let step = pending.popLast() { return ClassicProgress(step) }
        let (found, consumed) = try framing.next(bytes)
        switch found {
        case .needsMore: return ClassicProgress(.needsMore)
        case .nothing: return ClassicProgress(.nothing, consumed: consumed)
        case .message(let function, let json):
            let outcome = try uploads.take(function, json)
            return ClassicProgress(step(of: outcome), consumed: consumed)
        }
    }

    private mutating func step(of outcome: MessageUploads.Outcome) -> ClassicStep {
        switch outcome {
        case .pong(let object): return .reply(Self.bytes(.pong, object))
        case .steps(let steps):
            pending = steps.reversed()
            return pending.popLast() ?? .nothing
        }
    }

    package func answer(to upload: ClassicUpload, _ result: ClassicResult) -> [UInt8] {
        Self.bytes(.result, result.object(id: upload.number))
    }

    package func answer(to fault: ClassicFault) -> [UInt8] {
        Self.bytes(.result, ClassicResult(fault.code, message: fault.message).object(id: fault.reference))
    }

    /// Encodes a server's message. Its texts were clipped before, so it fits the framing.
    private static func bytes(_ function: MessageFunction, _ object: JSONLine) -> [UInt8] {
        Framing.encode(function, object) ?? []
    }
}

/// `header7`: messages behind version 1 of the header of seven bytes.
package typealias Header7Conversation = MessageConversation<Header7Framing>

/// `tagged37`: messages behind a header of 37 characters.
package typealias Tagged37Conversation = MessageConversation<Tagged37Framing>
