import TransferModel
import TransferProtocol

/// Makes `have` frames of blocks that come in order.
struct BlockReport {
    private let id: UploadID
    private let function: DigestFunction
    private var first: UInt64 = 0
    private var digests: [Digest] = []

    init(_ id: UploadID, _ function: DigestFunction) {
        self.id = id
        self.function = function
    }

    mutating func add(_ index: UInt64, _ digest: [UInt8], to frames: inout [UInt8]) {
        if index != first + UInt64(digests.count) || digests.count == Have.mostBlocks { finish(to: &frames) }
        if digests.isEmpty { first = index }
        digests.append(Digest(function.plain, digest))
    }

    mutating func finish(to frames: inout [UInt8]) {
        guard !digests.isEmpty else { return }
        Message.have(Have(id: id, first: first, digests: digests)).encode(into: &frames)
        digests = []
    }
}
