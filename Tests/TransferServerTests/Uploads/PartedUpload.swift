import TransferModel
import TransferProtocol

/// Makes the frames of one upload in parts.
struct PartedUpload {
    let id: UploadID
    let path: String
    let content: [UInt8]
    let function: DigestFunction
    let conflict: ConflictPolicy

    init(
        _ path: String, _ content: [UInt8], _ function: DigestFunction = .xxh128, id: UploadID = .random(),
        conflict: ConflictPolicy = .keepBoth
    ) {
        self.conflict = conflict
        self.id = id
        self.path = path
        self.content = content
        self.function = function
    }

    func part(_ range: Range<Int>, id partID: UploadID = .random()) -> [UInt8] {
        part(range, id: partID, total: content.count)
    }

    /// - Parameter total: declared size of the whole upload.
    func part(_ range: Range<Int>, id partID: UploadID = .random(), total: Int?) -> [UInt8] {
        var begin = Begin(id: partID, path: path, size: UInt64(range.count), digest: function, conflict: conflict)
        begin.scope = .part(.init(of: id, offset: UInt64(range.lowerBound), total: total.map { UInt64($0) }))
        let bytes = Array(content[range])
        return Frames.encoded(.begin(begin)) + Frames.stored(bytes) + Frames.end(bytes, function)
    }

    var inOnePart: [UInt8] { part(0..<content.count) }

    var multipart: [UInt8] { multipart(digestOf: content) }

    func multipart(digestOf other: [UInt8]) -> [UInt8] {
        var begin = Begin(id: id, path: path, size: UInt64(content.count), digest: function, conflict: conflict)
        begin.scope = .multipart
        return Frames.encoded(.begin(begin)) + Frames.end(other, function)
    }

    /// Frames that withdraw the whole upload.
    var withdrawal: [UInt8] {
        var begin = Begin(id: id, path: path, size: 0, digest: function)
        begin.scope = .multipart
        return Frames.encoded(.begin(begin), .abort)
    }

    /// Asks which blocks the server has.
    var question: [UInt8] {
        Frames.encoded(
            .resume(Begin(id: id, path: path, size: UInt64(content.count), digest: function, scope: .multipart)))
    }

    /// The digests of all blocks.
    var blocks: [Digest] {
        stride(from: 0, to: content.count, by: Limits.blockSize).map { start in
            Frames.digest(Array(content[start..<min(content.count, start + Limits.blockSize)]), function)
        }
    }
}
