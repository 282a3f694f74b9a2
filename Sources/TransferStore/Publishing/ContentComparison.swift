import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// Compares a staged upload byte by byte with the files at its possible names, up to the first difference.
///
/// The bytes that an upload's comparisons read are limited by its own size. A client could store ten thousand files of
/// one size under numbered names that differ only at their ends; without a bound, each further upload would read all of
/// them.
struct ContentComparison {
    /// Bytes of other files that may still be read, besides the first ones of each: where the upload has content, and
    /// where it has holes, for which the client has sent only a number.
    private struct Allowance {
        var content: UInt64
        var holes: UInt64
    }

    private let staged: StagedFile
    private let size: UInt64
    /// Nil before the first comparison.
    private var allowance: Allowance?

    /// How many files of the upload's size may be read to their ends.
    static let mostWhole: UInt64 = 4

    /// The most bytes that are read where the upload has holes: enough to recognise copies of moderate size whose holes
    /// were filled.
    static let mostForHoles: UInt64 = 64 << 20

    /// Bytes that are read first: most files of the same size that differ do so in these bytes.
    private static let frontSize = 4 << 10

    /// Bytes that are read at once after the first ones.
    private static let readSize = 256 << 10

    init(_ publication: Publication) {
        (staged, size) = (publication.staged, publication.size)
    }

    /// Whether a file of the same size has the same content. False also if the upload's allowance is used up; then the
    /// upload is stored beside the file.
    mutating func isSame(_ file: FoundFile) throws(SystemError) -> Bool {
        let room = min(Self.readSize, Int(clamping: size))
        let (own, other) = (Self.buffer(room), Self.buffer(room))
        defer {
            own.deallocate()
            other.deallocate()
        }
        var holes = (HolesOnDisk(staged.number, on: staged.disk), HolesOnDisk(file.number, on: staged.disk))
        let isFirst = allowance == nil
        var allowance = allowance ?? allowance(for: holes.0.filled)
        defer { self.allowance = allowance }
        var offset: UInt64 = 0
        while offset < size {
            let (run, its) = (holes.0.run(at: offset), holes.1.run(at: offset))
            // Ranges that are holes in both files are not read.
            guard !run.isHole || !its.isHole else {
                offset += min(run.count, its.count, size - offset)
                continue
            }
            let most = run.isHole ? min(run.count, its.count) : run.count
            let count = min(offset == 0 ? Self.frontSize : room, Int(clamping: min(most, size - offset)))
            let kind: WritableKeyPath<Allowance, UInt64> = run.isHole ? \.holes : \.content
            if offset > 0 {
                let left = allowance[keyPath: kind]
                // The first comparison may read as many bytes as were sent, even if the file system compresses and
                // reports fewer.
                guard UInt64(count) <= left || isFirst && !run.isHole else { return false }
                allowance[keyPath: kind] = left - min(left, UInt64(count))
            }
            guard try read(staged.number, own, count, at: offset), try read(file.number, other, count, at: offset),
                memcmp(own, other, count) == 0
            else { return false }
            offset += UInt64(count)
        }
        return true
    }

    /// - Parameter filled: bytes of the upload that are not in holes; nil if it has no holes.
    private func allowance(for filled: UInt64?) -> Allowance {
        let (content, overflow) = min(filled ?? size, size).multipliedReportingOverflow(by: Self.mostWhole)
        return Allowance(content: overflow ? .max : content, holes: Self.mostForHoles)
    }

    private static func buffer(_ size: Int) -> UnsafeMutableRawPointer {
        .allocate(byteCount: max(1, size), alignment: 4096)
    }

    /// - Returns: false if the file ends earlier.
    private func read(
        _ file: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int, at offset: UInt64
    ) throws(SystemError) -> Bool {
        var done = 0
        while done < count {
            let rest = UnsafeMutableRawBufferPointer(start: buffer + done, count: count - done)
            let read = try staged.disk.read(file, into: rest, at: offset + UInt64(done))
            guard read > 0 else { return false }
            done += read
        }
        return true
    }
}
