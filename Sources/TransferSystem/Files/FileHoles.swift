internal import CLinux
import Glibc

/// Finds the holes of a file while it is read. A result describes the file only at the time of the call; the reader
/// must detect in another way that the file has changed.
package struct FileHoles {
    /// Bytes that the file occupies on disk, which are fewer than its data if the file system compresses; nil for a
    /// file without holes.
    package let filled: UInt64?

    private let size: UInt64
    /// The run in which the latest position was found.
    private var known: Range<UInt64> = 0..<0
    private var isHole = false
    /// Whether the file system cannot answer.
    private var hasFailed = false

    /// A call of lseek(2) with SEEK_DATA or SEEK_HOLE.
    package typealias Seek = (_ position: UInt64, _ whence: Int32) throws(SystemError) -> UInt64

    /// Consecutive bytes that are either all in a hole or all data.
    package struct Run: Equatable, Sendable {
        package let count: UInt64
        package let isHole: Bool

        package init(count: UInt64, isHole: Bool) {
            (self.count, self.isHole) = (count, isHole)
        }

        /// A run of data whose end is unknown.
        package static let data = Run(count: .max, isHole: false)
    }

    /// Checks whether the file has holes. Calls `seek` only if the file occupies fewer bytes than its size.
    ///
    /// - Parameters:
    ///   - size: size in bytes (stat(3type), st_size).
    ///   - blocks: occupied blocks of 512 bytes (st_blocks).
    package init(size: Int, blocks: Int, _ seek: Seek) {
        self.size = UInt64(max(0, size))
        let (space, overflow) = UInt64(max(0, blocks)).multipliedReportingOverflow(by: 512)
        guard !overflow, space < self.size, let first = try? seek(0, clinux_seek_hole), first < self.size else {
            filled = nil
            return
        }
        filled = space
    }

    /// - Returns: the run at a position, at least one byte.
    package mutating func run(at position: UInt64, _ seek: Seek) -> Run {
        guard filled != nil, !hasFailed, position < size else { return .data }
        if !known.contains(position) { look(at: position, seek) }
        return Run(count: known.upperBound - position, isHole: isHole)
    }

    /// Finds the run at a position. Whatever the file system answers, the run has at least one byte and does not extend
    /// past the end of the file.
    private mutating func look(at position: UInt64, _ seek: Seek) {
        do throws(SystemError) {
            let data = try seek(position, clinux_seek_data)
            isHole = data > position
            let end = isHole ? data : try seek(position, clinux_seek_hole)
            known = position..<min(max(end, position + 1), size)
        } catch {
            // ENXIO means that there is no data after this position (lseek(2)). Any other error means that the file
            // system does not support this.
            hasFailed = error.errno != ENXIO
            isHole = !hasFailed
            known = position..<size
        }
    }
}
