package import TransferModel

/// The client's side of a framing that carries messages.
package struct MessageClient<Framing: MessageFraming>: ClassicClient {
    /// The name of the framing, for messages to users.
    private let name: String
    private let isCompressed: Bool
    private var answers = MessageAnswers<Framing>()

    package let wantsSize = false
    package let isAnswered = true
    package let hasDigests = true
    package let longestPiece: Int? = MessageRequest.chunkSize

    init(_ name: String, isCompressed: Bool) {
        (self.name, self.isCompressed) = (name, isCompressed)
    }

    package func heartbeatInterval(silence: Interval) -> Interval? {
        min(.seconds(5), Interval(nanoseconds: silence.nanoseconds / 3))
    }

    package func heartbeat(isInUpload: Bool) -> [UInt8] { bytes(.ping) }

    package func begin(_ upload: ClassicUpload) throws(Failure) -> [UInt8] {
        let name = upload.name.map { String(decoding: $0, as: UTF8.self) }
        let request = MessageRequest.begin(id: upload.number, name: name, kind: upload.kind, size: upload.size)
        guard let bytes = request.bytes(in: Framing.self) else {
            throw Failure(.unsuitable, "Its name is too long for \(self.name).")
        }
        return bytes
    }

    package func content(_ piece: [UInt8], of number: UInt64) -> [UInt8] {
        let request = MessageRequest.chunk(id: number, content: piece)
        let plain = request.bytes(in: Framing.self)
        guard isCompressed, let compressed = Framing.encodeCompressed(request.function, request.object),
            compressed.count < plain?.count ?? .max
        else { return plain ?? [] }
        return compressed
    }

    package func end(_ number: UInt64, size: UInt64, sha256: [UInt8]?) -> [UInt8] {
        bytes(.end(id: number, size: size, sha256: sha256))
    }

    package func abort(_ number: UInt64, reason: String) -> [UInt8]? {
        MessageRequest.abort(id: number, reason: reason).bytes(in: Framing.self)
    }

    package var farewell: [UInt8] { bytes(.goodbye) }

    package mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> (answer: ClassicAnswer, consumed: Int) {
        try answers.next(bytes)
    }

    private func bytes(_ request: MessageRequest) -> [UInt8] { request.bytes(in: Framing.self) ?? [] }
}

/// Parses a server's messages to a client, in any framing.
package struct MessageAnswers<Framing: MessageFraming>: Sendable {
    private var framing = Framing()

    package init() {}

    /// Takes one step, by the rules of `ClassicConversation.next`.
    ///
    /// - Throws: `ClassicFault`, also `unexpectedFrame` for a message that only clients send.
    package mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> (answer: ClassicAnswer, consumed: Int) {
        let (found, consumed) = try framing.next(bytes)
        switch found {
        case .needsMore: return (.needsMore, 0)
        case .nothing: return (.nothing, consumed)
        case .message(let function, let json): return (try Self.answer(function, json), consumed)
        }
    }

    private static func answer(_ function: MessageFunction, _ json: [UInt8]) throws(ClassicFault) -> ClassicAnswer {
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
            throw object.fault("The server sent a message that only clients send.", .unexpectedFrame)
        }
    }
}
