import Glibc
import Testing
import TransferSystem

/// Runs stay within the file whatever lseek(2) answers.
@Suite struct FileHolesTests {
    private static let data: Int32 = 3
    private static let hole: Int32 = 4

    /// Stands for lseek(2) on a file of 100 bytes with data in 0..<10, 40..<50 and 90..<100.
    private static func seek(_ position: UInt64, _ whence: Int32) throws(SystemError) -> UInt64 {
        let runs: [Range<UInt64>] = [0..<10, 40..<50, 90..<100]
        guard position < 100 else { throw SystemError(errno: ENXIO, call: "lseek") }
        if let inside = runs.first(where: { $0.contains(position) }) {
            return whence == data ? position : inside.upperBound
        }
        return whence == hole ? position : runs.first { $0.lowerBound > position }?.lowerBound ?? 100
    }

    private static func runs(_ holes: FileHoles, upTo end: UInt64, _ seek: FileHoles.Seek) -> [FileHoles.Run] {
        var holes = holes
        var runs: [FileHoles.Run] = []
        var position: UInt64 = 0
        while position < end, runs.count < 1000 {
            let run = holes.run(at: position, seek)
            runs.append(run)
            position = position.addingReportingOverflow(run.count).overflow ? .max : position + run.count
        }
        return runs
    }

    private typealias Run = FileHoles.Run

    @Test func dataAndHolesTakeTurns() {
        let holes = FileHoles(size: 100, blocks: 0, Self.seek)
        #expect(holes.filled == 0)
        #expect(
            Self.runs(holes, upTo: 100, Self.seek) == [
                Run(count: 10, isHole: false), Run(count: 30, isHole: true), Run(count: 10, isHole: false),
                Run(count: 40, isHole: true), Run(count: 10, isHole: false),
            ])
        var other = FileHoles(size: 100, blocks: 0, Self.seek)
        #expect(other.run(at: 15, Self.seek) == Run(count: 25, isHole: true))
        #expect(other.run(at: 3, Self.seek) == Run(count: 7, isHole: false))
        #expect(other.run(at: 100, Self.seek) == .data && other.run(at: .max, Self.seek) == .data)
    }

    @Test func aHoleAtTheEndEndsWithTheFile() {
        let seek: FileHoles.Seek = { (position, whence) throws(SystemError) in
            guard whence == Self.hole else { throw SystemError(errno: ENXIO, call: "lseek") }
            return position
        }
        var holes = FileHoles(size: 1 << 62, blocks: 8, seek)
        #expect(holes.filled == 4096)
        #expect(holes.run(at: 0, seek) == Run(count: 1 << 62, isHole: true))
    }

    /// A file that occupies at least its size on disk has no holes and needs no system call.
    @Test(arguments: [(512, 1), (0, 0), (511, 1), (-5, 0), (512, .max)])
    func noCallWithoutNeed(_ size: Int, _ blocks: Int) {
        var calls = 0
        let seek: FileHoles.Seek = { (position, _) throws(SystemError) in
            calls += 1
            return position
        }
        var holes = FileHoles(size: size, blocks: blocks, seek)
        #expect(holes.filled == nil && holes.run(at: 0, seek) == .data && calls == 0)
    }

    /// A file that the file system compresses occupies less than its size but has no holes.
    @Test func lessRoomIsNoHole() {
        var holes = FileHoles(size: 10_000, blocks: 8) { (_, _) throws(SystemError) in 10_000 }
        #expect(holes.filled == nil)
        #expect(holes.run(at: 0) { (_, _) throws(SystemError) in 10_000 } == .data)
    }

    /// A file counts as data if the file system cannot answer.
    @Test(arguments: [EIO, EINVAL, ENOTSUP]) func anErrorIsData(_ code: Int32) {
        var holes = FileHoles(size: 100, blocks: 0, Self.seek)
        let seek: FileHoles.Seek = { (_, _) throws(SystemError) in throw SystemError(errno: code, call: "lseek") }
        #expect(!holes.run(at: 20, seek).isHole)
        // After an error, the file system is not asked again.
        #expect(holes.run(at: 20, Self.seek) == .data)
        #expect(FileHoles(size: 100, blocks: 0, seek).filled == nil)
    }

    /// Nonsensical answers still end the search: every run has at least one byte, and each byte is examined once.
    @Test(arguments: [0, 1, 50, 99, 100, 101, 1 << 62, UInt64.max]) func nonsenseEnds(_ answer: UInt64) {
        let holes = FileHoles(size: 100, blocks: 0, Self.seek)
        let runs = Self.runs(holes, upTo: 100) { (_, _) throws(SystemError) in answer }
        #expect(runs.count <= 100 && runs.allSatisfy { $0.count > 0 })
        #expect(runs.reduce(0) { $0 + $1.count } == 100)
    }
}
