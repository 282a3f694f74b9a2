import Glibc
import TransferModel
import TransferSystem

/// Compares what was staged with files that have the names it wants: byte by byte, and only as far as they are the same.
///
/// An upload pays for its comparisons with its own bytes. Ten thousand numbered names can have files of its size, and who
/// made these differ at their ends would otherwise have all of them read for each further upload.
struct ContentComparison {
    private let staged: StagedFile
    private let size: UInt64
    /// Bytes of others that may still be read, beside the front of each file.
    private var allowance: UInt64

    /// Files of the upload's size that are read to their ends, at most.
    private static let mostWhole: UInt64 = 4

    /// Bytes read first: where files of one size differ, they mostly do so here.
    private static let frontSize = 4 << 10

    /// Bytes read at once behind that.
    private static let readSize = 256 << 10

    init(_ publication: Publication) {
        (staged, size) = (publication.staged, publication.size)
        let (allowance, overflow) = size.multipliedReportingOverflow(by: Self.mostWhole)
        self.allowance = overflow ? .max : allowance
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
        var offset: UInt64 = 0
        while offset < size {
            let hole = Self.hole(&holes, at: offset)
            guard hole == 0 else {
                offset += min(hole, size - offset)
                continue
            }
            let count = min(offset == 0 ? Self.frontSize : room, Int(clamping: size - offset))
            if offset > 0 {
                guard UInt64(count) <= allowance else { return false }
                allowance -= UInt64(count)
            }
            guard try read(staged.number, own, count, at: offset), try read(file.number, other, count, at: offset),
                memcmp(own, other, count) == 0
            else { return false }
            offset += UInt64(count)
        }
        return true
    }

    /// - Returns: bytes from there on that are in holes of both, and so need not be read.
    private static func hole(_ holes: inout (HolesOnDisk, HolesOnDisk), at offset: UInt64) -> UInt64 {
        guard holes.0.filled != nil, holes.1.filled != nil else { return 0 }
        let (own, other) = (holes.0.run(at: offset), holes.1.run(at: offset))
        return own.isHole && other.isHole ? min(own.count, other.count) : 0
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
