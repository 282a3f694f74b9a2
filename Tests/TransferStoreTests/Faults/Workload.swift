import TransferPorts
import TransferCodec
import TransferModel
import TransferProtocol
import TransferStoreTestSupport
import TransferTestSupport

@testable import TransferStore

/// Uploads that use one way of storing each, small enough to be repeated for each of their system calls.
enum Workload: String, CaseIterable, Sendable {
    case single
    case smallBatch
    case long
    case multipart
    case overwrite
    case keepBoth
    case alreadyStored
    case newDirectories
    case twice
    case holes

    struct Upload: Sendable {
        var path: String
        var content: [UInt8]
        var policy = ConflictPolicy.keepBoth
        /// Offsets where the writes begin, in the order in which they are made; the default is one write of all bytes.
        var writes = [0]
        /// Ranges that become holes in the end, after other bytes were written there.
        var holes: [Range<Int>] = []
        /// A declared size of more than one block makes a part with reserved space.
        var declared: UInt64?
    }

    private static func bytes(_ count: Int, _ seed: UInt64) -> [UInt8] {
        var random = SplitMix64(seed: seed)
        return random.bytes(count)
    }

    private static let old = bytes(5000, 1)
    private static let new = bytes(6000, 2)
    private static let large = UInt64(Limits.blockSize) + 1

    /// Files that exist before the run.
    var before: [String: [UInt8]] {
        switch self {
        case .overwrite, .alreadyStored: ["a": Self.old, "b": Self.old]
        case .keepBoth: ["a.b": Self.old]
        default: [:]
        }
    }

    /// The uploads of each array are published together.
    var batches: [[Upload]] {
        let new = Self.new
        let some = (0..<5).map { Self.bytes(100 * $0, UInt64(10 + $0)) }
        switch self {
        case .single: return [[Upload(path: "a", content: new)]]
        case .smallBatch: return [(0..<5).map { Upload(path: "f\($0)", content: some[$0]) }]
        case .long:
            return [
                [Upload(path: "a", content: Self.bytes(20_000, 3), writes: [0, 8192, 16384], declared: Self.large)]
            ]
        case .multipart:
            return [
                [Upload(path: "a", content: Self.bytes(20_000, 4), writes: [16384, 0, 8192], declared: Self.large)]
            ]
        case .overwrite:
            let part = Upload(path: "b", content: Self.bytes(9000, 5), policy: .overwrite, declared: Self.large)
            return [[Upload(path: "a", content: new, policy: .overwrite), part]]
        case .keepBoth:
            let third = Upload(path: "a.b", content: Self.bytes(50, 6), declared: Self.large)
            return [[Upload(path: "a.b", content: new), third]]
        case .alreadyStored:
            let other = Upload(path: "b", content: Self.old, policy: .fail, declared: Self.large)
            return [[Upload(path: "a", content: Self.old), other, Upload(path: "c", content: new)]]
        case .newDirectories: return [(0..<4).map { Upload(path: "d/e\($0 % 2)/f\($0)", content: some[$0 + 1]) }]
        case .twice:
            let uploads = [Upload(path: "d/a", content: new), Upload(path: "d/b", content: some[1])]
            return [uploads, uploads + [Upload(path: "d/c", content: some[2])]]
        case .holes:
            let ranges = [0..<4096, 5000..<9000, 19_000..<20_000]
            var content = Self.bytes(20_000, 7)
            for range in ranges { content.replaceSubrange(range, with: [UInt8](repeating: 0, count: range.count)) }
            let long = Upload(path: "a", content: content, holes: ranges, declared: Self.large)
            let short = Upload(path: "b", content: content, policy: .overwrite, holes: ranges)
            return [[long, short, Upload(path: "c", content: [UInt8](repeating: 0, count: 9000), holes: [0..<9000])]]
        }
    }

    typealias Outcome = (upload: Upload, result: Result<PublicationOutcome, Failure>)

    /// Stores all uploads, one batch after another.
    ///
    /// - Parameter script: records the acknowledgements.
    func run(on fixture: StoreFixture, _ script: ScriptedDisk) throws -> [Outcome] {
        try batches.flatMap { batch -> [Outcome] in
            let staged = batch.map { upload in
                Result { () throws(Failure) in try fixture.stage(upload) }
            }
            var published = fixture.publish(staged.compactMap { try? $0.get() })[...]
            return try zip(batch, staged).map { upload, staged in
                if case .failure(let error) = staged { return (upload, .failure(error)) }
                let result = try published.popFirst().unwrapped
                switch result {
                case .success(.committed(let path, _)), .success(.healed(let path, _)),
                    .success(.restored(let path, _)),
                    .success(.alreadyStored(let path, _)):
                    script.acknowledge(path.string, upload.content)
                case .success(.skipped), .failure: break
                }
                return (upload, result)
            }
        }
    }
}

extension StoreFixture {
    fileprivate func stage(_ upload: Workload.Upload) throws(Failure) -> Publication {
        let id = UploadID.random()
        let size = UInt64(upload.content.count)
        let staged = try store.stage(id: id, size: upload.declared ?? size, permissions: 0o640)
        let ends = upload.writes.map { start in upload.writes.filter { $0 > start }.min() ?? upload.content.count }
        for (start, end) in zip(upload.writes, ends) {
            var piece = Array(upload.content[start..<end])
            // Holes first get other bytes, except the last hole, to which no bytes are written.
            for hole in upload.holes.dropLast() where hole.lowerBound >= start && hole.upperBound <= end {
                piece.replaceSubrange(
                    hole.lowerBound - start..<hole.upperBound - start, with: [UInt8](repeating: 0xEE, count: hole.count)
                )
            }
            if let last = upload.holes.last { piece.removeLast(min(piece.count, max(0, end - last.lowerBound))) }
            try piece.span.bytes.withUnsafeBytes { bytes throws(Failure) in
                try staged.write(bytes, at: UInt64(start))
            }
        }
        for hole in upload.holes { try staged.clear(UInt64(hole.lowerBound)..<UInt64(hole.upperBound)) }
        let path: RelativePath
        do throws(RelativePath.Fault) {
            path = try RelativePath(upload.path)
        } catch {
            throw Failure(.invalidPath, error.message)
        }
        return Publication(
            staged: staged, id: id, path: path, size: size,
            digest: upload.content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }, conflict: upload.policy,
            modified: Timestamp(seconds: 1_000_000_000, nanoseconds: 7), permissions: 0o640)
    }
}

extension Optional {
    /// A value is missing that the test needs.
    struct Missing: Error {}

    fileprivate var unwrapped: Wrapped {
        get throws {
            guard let self else { throw Missing() }
            return self
        }
    }
}
