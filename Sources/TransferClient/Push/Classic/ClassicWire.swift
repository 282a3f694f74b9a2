import TransferClassic
import TransferModel

/// The bytes of what a client says in a classic framing.
struct ClassicWire {
    private let target: ClassicTarget

    init(_ target: ClassicTarget) {
        self.target = target
    }

    /// What stands in front of the content.
    ///
    /// - Throws: `unsuitable`.
    func head(_ declared: ClassicPush.Declared, number: UInt64) throws(Failure) -> [UInt8] {
        switch target.framing {
        case .sized(let total, _): return try sized(declared, total)
        case .jsonline: return try line(declared)
        case .header7, .tagged37:
            let begin = MessageRequest.begin(
                id: number, name: declared.name, kind: declared.kind, size: declared.size)
            guard let bytes = bytes(begin) else {
                throw .unsuitable("Its name is too long for \(target.framing.name).")
            }
            return bytes
        case .text: throw .unsuitable("It is not sent as 'text'.")
        }
    }

    private func sized(_ declared: ClassicPush.Declared, _ total: SizedTotal) throws(Failure) -> [UInt8] {
        guard let kind = declared.kind, kind != .file else {
            throw .unsuitable(
                "sized has texts, audio, pictures and locations, and this is recognised as none of them; say which with "
                    + "--kind.")
        }
        guard let size = declared.size, let head = SizedRequest.head(kind: kind, size: size, total: total) else {
            throw .unsuitable("It is longer than sized can carry: 2 GiB less a few bytes.")
        }
        return head
    }

    private func line(_ declared: ClassicPush.Declared) throws(Failure) -> [UInt8] {
        guard let kind = declared.kind, [.text, .location, .picture].contains(kind) else {
            throw .unsuitable(
                "jsonline has texts and pictures, and this is recognised as neither; say which with --kind.")
        }
        let line = declared.size.flatMap {
            JSONLineMessage.upload(kind, from: target.sender, to: target.recipient, size: $0)
        }
        guard let line else { throw .unsuitable("It is empty, and jsonline carries nothing that is empty.") }
        return line
    }

    /// - Parameter piece: of at most `MessageRequest.chunkSize` bytes.
    func content(_ piece: [UInt8], number: UInt64) -> [UInt8] {
        switch target.framing {
        case .sized, .jsonline, .text: piece
        case .header7, .tagged37: bytes(.chunk(id: number, content: piece)) ?? []
        }
    }

    /// - Returns: nothing where the framing has no messages, or not this one.
    func bytes(_ request: MessageRequest) -> [UInt8]? {
        switch target.framing {
        case .sized, .jsonline, .text: nil
        case .tagged37: request.bytes(in: Tagged37Framing.self)
        case .header7: header7(request)
        }
    }

    private func header7(_ request: MessageRequest) -> [UInt8]? {
        let plain = request.bytes(in: Header7Framing.self)
        guard target.isCompressed, case .chunk = request,
            let compressed = Header7Framing.encodeCompressed(request.function, request.object),
            compressed.count < plain?.count ?? .max
        else { return plain }
        return compressed
    }
}
