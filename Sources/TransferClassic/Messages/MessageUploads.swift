internal import TransferKeys
internal import TransferModel

/// The state machine for uploads in the messages of `header7` and `tagged37`.
///
/// ```
///   none ──begin──► open ──chunk…──► open ──end, abort──► none
///   none ──text──► none
/// ```
struct MessageUploads {
    enum Outcome: Equatable {
        case steps([ClassicStep])
        /// The answer to a ping.
        case pong(JSONLine)
    }

    /// The ID of the upload that has begun and not ended; nil between uploads.
    private(set) var open: UInt64?

    /// Processes the next message.
    ///
    /// - Throws: `ClassicFault` with the ID of the upload: `malformedFrame`, `frameTooLarge` for a chunk,
    ///   `unexpectedFrame` for a message that is illegal in this state.
    mutating func take(_ function: MessageFunction, _ json: [UInt8]) throws(ClassicFault) -> Outcome {
        var object = try ClassicObject(json, of: function)
        let id = try object.number("id", in: 1...ClassicLimits.id)
        object.reference = id ?? 0
        switch function {
        case .ping: return .pong(.pong(id))
        case .pong: return .steps([.nothing])
        case .goodbye: return .steps([.close])
        case .result: throw object.fault("Only servers send a result.", .unexpectedFrame)
        case .begin, .chunk, .end, .abort, .text: break
        }
        guard let id else { throw object.fault("The message has no id.") }
        return .steps(try upload(function, id, object))
    }

    private mutating func upload(
        _ function: MessageFunction, _ id: UInt64, _ object: ClassicObject
    ) throws(ClassicFault) -> [ClassicStep] {
        if function == .begin || function == .text {
            if let open { throw object.fault("Upload \(open) has not ended.", .unexpectedFrame) }
            guard function == .begin else { return try text(id, object) }
            let upload = try begin(id, object)
            open = id
            return [.begin(upload)]
        }
        guard open == id else { throw object.fault("Upload \(id) has not begun.", .unexpectedFrame) }
        guard function != .chunk else { return [try chunk(object)] }
        let step = try function == .end ? end(object) : .abort
        open = nil
        return [step]
    }

    private func begin(_ id: UInt64, _ object: ClassicObject) throws(ClassicFault) -> ClassicUpload {
        let name = try object.text("name")
        let kind = try object.text("kind").map { (name) throws(ClassicFault) in
            guard let kind = ContentKind(name: name) else { throw object.fault("The kind is not supported.") }
            return kind
        }
        let size = try object.number("size", in: 0...Limits.uploadSize)
        return ClassicUpload(
            number: id, name: name.map { Array($0.utf8.prefix(ClassicLimits.name)) }, kind: kind, size: size)
    }

    private func chunk(_ object: ClassicObject) throws(ClassicFault) -> ClassicStep {
        guard let digits = try object.text("data") else { throw object.fault("The chunk has no data.") }
        // Base64 has four digits for three bytes (RFC 4648, section 4).
        let longest = ClassicLimits.chunk / 3 * 4
        guard digits.utf8.count <= longest else {
            throw object.fault("The chunk has more than \(ClassicLimits.chunk) bytes.", .frameTooLarge)
        }
        guard !digits.isEmpty else { return .nothing }
        guard let bytes = Base64.decode(digits, longest: longest) else {
            throw object.fault("The data of the chunk is not Base64.")
        }
        return .decoded(bytes)
    }

    private func end(_ object: ClassicObject) throws(ClassicFault) -> ClassicStep {
        guard let size = try object.number("size", in: 0...Limits.uploadSize) else {
            throw object.fault("The end has no size.")
        }
        let digest = try object.text("sha256").map { (digits) throws(ClassicFault) in
            guard digits.utf8.count == 2 * DigestFunction.sha256.size, let bytes = [UInt8](hexadecimal: digits) else {
                throw object.fault("The digest is not 64 hexadecimal digits.")
            }
            return Digest(.sha256, bytes)
        }
        return .end(ClassicEnd(size: size, digest: digest))
    }

    private func text(_ id: UInt64, _ object: ClassicObject) throws(ClassicFault) -> [ClassicStep] {
        guard let text = try object.text("text") else { throw object.fault("The message has no text.") }
        let bytes = Array(text.utf8)
        let size = UInt64(bytes.count)
        let begin = ClassicStep.begin(ClassicUpload(number: id, kind: .text, size: size))
        return [begin] + (bytes.isEmpty ? [] : [.decoded(bytes)]) + [.end(ClassicEnd(size: size))]
    }
}
