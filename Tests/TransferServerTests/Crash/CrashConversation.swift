import TransferModel
import TransferProtocol
import TransferTestSupport

/// Short conversations of a client, which tests can cut anywhere. Each shows one way of using a server.
enum CrashConversation: String, CaseIterable, Sendable {
    case batch
    case oneByOne
    case sameIDAgain
    case parts
    case partsResumed
    case partTwice
    case overwrite
    case keepBoth
    case alreadyStored
    case removal

    /// An upload that has the same ID whenever it is sent.
    struct Upload: Sendable {
        let id: UploadID
        let path: String
        let content: [UInt8]
        var conflict = ConflictPolicy.keepBoth

        var parted: PartedUpload { PartedUpload(path, content, id: id, conflict: conflict) }

        var frames: [UInt8] { Frames.upload(path, content, id: id, conflict: conflict) }
    }

    enum Step: Sendable {
        /// Sends all of these uploads at once.
        case send([Upload])
        /// Sends bytes of an upload in parts.
        case part(Upload, Range<Int>)
        /// Asks over a new connection which blocks the server has, and sends all but the last of the missing parts.
        case resume(Upload)
        /// Asks which blocks the server has, sends the missing ones and ends the upload.
        case complete(Upload)
        /// Asks which of these uploads are stored.
        case lookUp([Upload])
        case remove(String)
    }

    private static func bytes(_ count: Int, _ seed: UInt64) -> [UInt8] { SplitMix64.bytes(seed: seed, count) }

    private static func upload(
        _ number: UInt64, _ path: String, _ content: [UInt8], _ conflict: ConflictPolicy = .keepBoth
    ) -> Upload {
        Upload(id: UploadID(high: 7, low: number), path: path, content: content, conflict: conflict)
    }

    private static let old = bytes(5000, 1)
    private static let new = bytes(6000, 2)

    /// Content of a block and a part of the next.
    private static let long = bytes(Limits.blockSize + 5000, 3)

    /// Files that are stored before the conversation.
    var before: [String: [UInt8]] {
        switch self {
        case .overwrite, .keepBoth, .alreadyStored: ["a.b": Self.old]
        default: [:]
        }
    }

    var steps: [Step] {
        let some = (1...6 as ClosedRange<UInt64>).map { Self.upload($0, "f\($0)", Self.bytes(Int($0) * 700, $0)) }
        let long = Self.upload(20, "long", Self.long)
        let (first, second) = (0..<Limits.blockSize, Limits.blockSize..<Self.long.count)
        switch self {
        case .batch: return [.send(some), .lookUp(some)]
        case .oneByOne:
            let deep = some.prefix(4).map { Self.upload($0.id.low, "d/e\($0.id.low % 2)/f", $0.content) }
            return deep.map { .send([$0]) } + [.lookUp(deep)]
        case .sameIDAgain: return [.send([some[0]]), .send([some[1], some[0]]), .send([some[0]])]
        case .parts: return [.part(long, second), .part(long, first), .complete(long), .lookUp([long])]
        case .partsResumed:
            return [.part(long, first), .send([some[0]]), .resume(long), .complete(long), .complete(long)]
        case .partTwice:
            return [.part(long, first), .part(long, first), .complete(long), .send([some[1]])]
        case .overwrite:
            let third = Upload(id: UploadID(high: 8, low: 1), path: "a.b", content: Self.long, conflict: .overwrite)
            return [
                .send([Self.upload(1, "a.b", Self.new, .overwrite)]),
                .part(third, 0..<Limits.blockSize), .complete(third),
                .send([Self.upload(3, "a.b", Self.bytes(300, 9), .overwrite), some[4]]),
            ]
        case .keepBoth:
            return [
                .send([Self.upload(1, "a.b", Self.new), Self.upload(2, "a.b", Self.bytes(50, 6)), some[2]]),
                .send([Self.upload(4, "a.b", Self.bytes(60, 7))]),
            ]
        case .alreadyStored:
            let same = Self.upload(1, "a.b", Self.old, .fail)
            return [.send([same]), .send([some[1]]), .send([Self.upload(9, "f2", some[1].content)]), .lookUp([same])]
        case .removal:
            let below = Self.upload(8, "d/g", Self.new)
            return [.send([some[0], some[1], below]), .remove("f1"), .remove("d"), .send([some[2]]), .remove("f3")]
        }
    }

    /// - Returns: whether the conversation ever removes the path.
    func removes(_ path: String) -> Bool {
        steps.contains { if case .remove(let gone) = $0 { path == gone || path.hasPrefix(gone + "/") } else { false } }
    }

    /// All uploads of the conversation, each once.
    var uploads: [Upload] {
        var known: Set<UploadID> = []
        return steps.flatMap { step -> [Upload] in
            switch step {
            case .send(let uploads): uploads
            case .part(let upload, _), .resume(let upload), .complete(let upload): [upload]
            case .lookUp, .remove: []
            }
        }.filter { known.insert($0.id).inserted }
    }
}
