import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// Compares what was staged with files that have the names it wants: byte by byte, and only as far as they are the same.
///
/// An upload pays for its comparisons with its own bytes. Ten thousand numbered names can have files of its size, and who
/// made these differ at their ends would otherwise have all of them read for each further upload.
struct ContentComparison {
    /// Bytes of others that may still be read, beside the front of each file: where the upload has content, and where it has a hole,
    /// for which it has brought no more than a number.
    private struct Allowance {
        var content: UInt64
        var holes: UInt64
    }

    private let staged: StagedFile
    private let size: UInt64
    /// Nothing before the first comparison.
    private var allowance: Allowance?

    /// Files that are read to their ends, at most, of those that are as large as what the upload has brought.
    private static let mostWhole: UInt64 = 4

    /// Bytes that are read for holes, at most: files of some size whose holes were filled, by whoever copied them, are found.
    static let mostForHoles: UInt64 = 64 << 20

    /// Bytes read first: where files of one size differ, they mostly do so here.
    private static let frontSize = 4 << 10

    /// Bytes read at once behind that.
    private static let readSize = 256 << 10

    init(_ publication: Publication) {
        (staged, size) = (publication.staged, publication.size)
    }

    /// Whether a file of the same size has the same content. False also when too much was read for this upload already:
    /// then it is stored beside it.
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
            // What is in holes of both need not be read.
            guard !run.isHole || !its.isHole else {
                offset += min(run.count, its.count, size - offset)
                continue
            }
            let most = run.isHole ? min(run.count, its.count) : run.count
            let count = min(offset == 0 ? Self.frontSize : room, Int(clamping: min(most, size - offset)))
            let kind: WritableKeyPath<Allowance, UInt64> = run.isHole ? \.holes : \.content
            if offset > 0 {
                let left = allowance[keyPath: kind]
                // What was brought may be read once, also where the file system compresses and says that it is less.
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

    /// - Parameter filled: bytes of the upload that are not in holes; nothing where it has none.
    private func allowance(for filled: UInt64?) -> Allowance {
        let (content, overflow) = min(filled ?? size, size).multipliedReportingOverflow(by: Self.mostWhole)
        return Allowance(content: overflow ? .max : content, holes: Self.mostForHoles)
    }

    private static func buffer(_ size: Int) -> UnsafeMutableRawPointer {
        .allocate(byteCount: max(1, size), alignment: 4096)
    }

    /// - Returns: false when the file ends before.
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
