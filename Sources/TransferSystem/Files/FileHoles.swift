internal import CLinux
import Glibc

/// Where a file has holes, for whoever reads it. It is asked as it is read: what it says of a place is what was there at that time.
/// A file that changes meanwhile has to be noticed otherwise.
package struct FileHoles {
    /// Bytes that the file takes on its disk; nothing where it has no holes. Where the file system compresses it is less than what
    /// is in it.
    package let filled: UInt64?

    private let size: UInt64
    /// What is known of the place that was asked about last.
    private var known: Range<UInt64> = 0..<0
    private var isHole = false
    /// Whether the file system could not be asked.
    private var hasFailed = false

    /// lseek(2) with SEEK_DATA or SEEK_HOLE.
    package typealias Seek = (_ position: UInt64, _ whence: Int32) throws(SystemError) -> UInt64

    /// Bytes that follow each other and are either all in a hole or all data.
    package struct Run: Equatable, Sendable {
        package let count: UInt64
        package let isHole: Bool

        package init(count: UInt64, isHole: Bool) {
            (self.count, self.isHole) = (count, isHole)
        }

        /// As far as anybody knows.
        package static let data = Run(count: .max, isHole: false)
    }

    /// Without a call for a file that takes as much as it has bytes, and with one for others.
    ///
    /// - Parameters:
    ///   - size: bytes (stat(3type), st_size).
    ///   - blocks: of 512 bytes (st_blocks).
    package init(size: Int, blocks: Int, _ seek: Seek) {
        self.size = UInt64(max(0, size))
        let (space, overflow) = UInt64(max(0, blocks)).multipliedReportingOverflow(by: 512)
        guard !overflow, space < self.size, let first = try? seek(0, clinux_seek_hole), first < self.size else {
            filled = nil
            return
        }
        filled = space
    }

    /// - Returns: what begins at a place, one byte at least.
    package mutating func run(at position: UInt64, _ seek: Seek) -> Run {
        guard filled != nil, !hasFailed, position < size else { return .data }
        if !known.contains(position) { look(at: position, seek) }
        return Run(count: known.upperBound - position, isHole: isHole)
    }

    /// What a file system says is anybody's guess: it is never taken for less than one byte, nor for more than the file.
    private mutating func look(at position: UInt64, _ seek: Seek) {
        do throws(SystemError) {
            let data = try seek(position, clinux_seek_data)
            isHole = data > position
            let end = isHole ? data : try seek(position, clinux_seek_hole)
            known = position..<min(max(end, position + 1), size)
        } catch {
            // There is no more data (lseek(2)).
            hasFailed = error.errno != ENXIO
            isHole = !hasFailed
            known = position..<size
        }
    }
}
