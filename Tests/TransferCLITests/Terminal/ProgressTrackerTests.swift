import Testing
import TransferModel

@testable import TransferCLI
@testable import TransferClient

@Suite struct ProgressTrackerTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)

    private let traffic = Traffic()
    private var tracker: ProgressTracker

    init() { tracker = ProgressTracker(traffic, at: Self.start) }

    private static func progress(
        _ source: String, _ bytes: UInt64, of size: UInt64?, _ phase: UploadProgress.Phase = .sending
    ) -> PushEvent { .progress(UploadProgress(phase: phase, source: source, bytes: bytes, size: size)) }

    private static func report(_ source: String, _ size: UInt64, _ result: ResultCode = .committed) -> PushEvent {
        .finished(UploadReport(source: source, uploadID: .none, result: result, kind: .file, size: size))
    }

    @Test mutating func phases() {
        var snapshot = tracker.snapshot(at: Self.start)
        #expect(snapshot.phase == .connecting)
        for (event, phase) in [
            (.connected(server: "s"), .sending), (Self.progress("a", 1, of: 10, .resuming), .resuming),
            (Self.progress("a", 5, of: 10), .sending), (Self.progress("a", 10, of: 10), .committing),
            (.reconnecting(reason: "", after: 1), .reconnecting), (.connected(server: "s"), .sending),
        ] as [(PushEvent, ProgressSnapshot.Phase)] {
            let hasChanged = tracker.update(event, at: Self.start)
            snapshot = tracker.snapshot(at: Self.start)
            #expect(hasChanged && snapshot.phase == phase)
        }
        let hasChanged = tracker.update(Self.progress("b", 1, of: 2), at: Self.start)
        #expect(!hasChanged)
    }

    @Test mutating func filesUnderWay() {
        tracker.update(.counted(files: 3, bytes: 60), at: Self.start)
        for name in ["a", "b"] { tracker.update(Self.progress(name, 5, of: 20), at: Self.start) }
        tracker.update(Self.progress("a", 20, of: 20), at: Self.start)
        var snapshot = tracker.snapshot(at: Self.start + .seconds(1))
        #expect(
            snapshot.files == [
                FileProgress(source: "a", phase: .committing, bytes: 20, size: 20),
                FileProgress(source: "b", bytes: 5, size: 20),
            ])
        #expect(snapshot.totalBytes == 25 && snapshot.filesTotal == 3 && snapshot.filesDone == 0)
        tracker.update(Self.report("a", 20), at: Self.start)
        tracker.update(Self.report("c", 20, .sourceUnreadable), at: Self.start)
        tracker.update(Self.report("d", 0, .sourceSkipped), at: Self.start)
        snapshot = tracker.snapshot(at: Self.start + .seconds(2))
        #expect(snapshot.files.map(\.source) == ["b"])
        #expect((snapshot.totalBytes, snapshot.filesDone, snapshot.failed) == (25, 3, 1))
        #expect(snapshot.currentFile == "b" && snapshot.currentBytes == 5)
    }

    /// A gigabyte that the server already had says nothing about the speed of the network.
    @Test mutating func whatWasComparedIsNoSpeed() {
        tracker.update(.connected(server: "s"), at: Self.start)
        tracker.update(.counted(files: 1, bytes: 2_000_000_000), at: Self.start)
        tracker.update(Self.progress("a", 1_000_000_000, of: 2_000_000_000, .resuming), at: Self.start)
        var snapshot = tracker.snapshot(at: Self.start + .seconds(1))
        // Nothing was sent, but the remaining time is known.
        #expect(snapshot.bytesPerSecond == 0 && (snapshot.secondsLeft ?? 0) > 0)
        tracker.update(Self.progress("a", 1_000_000_000, of: 2_000_000_000), at: Self.start + .seconds(1))
        traffic.add(10_000_000)
        tracker.update(Self.progress("a", 1_010_000_000, of: 2_000_000_000), at: Self.start + .seconds(2))
        snapshot = tracker.snapshot(at: Self.start + .seconds(2))
        #expect((9_900_000...10_100_000).contains(snapshot.bytesPerSecond))
        #expect(snapshot.totalBytes == 1_010_000_000)
        #expect((98...100).contains(snapshot.secondsLeft ?? 0))
    }

    /// Files that the server already had are counted at once.
    @Test mutating func whatWasThereIsNoSpeed() {
        tracker.update(.connected(server: "s"), at: Self.start)
        let folder = KnownFolder(source: "d", storedPath: "d", files: 1000, bytes: 5_000_000_000)
        tracker.update(.known(folder), at: Self.start)
        tracker.update(Self.report("a", 3_000_000_000, .alreadyStored), at: Self.start)
        tracker.update(Self.progress("b", 1_000_000, of: 2_000_000), at: Self.start + .seconds(1))
        traffic.add(1_000_000)
        let snapshot = tracker.snapshot(at: Self.start + .seconds(1))
        #expect(snapshot.totalBytes == 8_001_000_000 && (900_000...1_100_000).contains(snapshot.bytesPerSecond))
    }

    /// Holes are not sent, and compressed content counts with its compressed size. The remaining time follows from the
    /// progress of the content, holes included.
    @Test mutating func theRateIsOfWhatTravels() {
        tracker.update(.connected(server: "s"), at: Self.start)
        tracker.update(.counted(files: 1, bytes: 8_000_000_000), at: Self.start)
        tracker.update(Self.progress("a", 2_000_000_000, of: 8_000_000_000), at: Self.start + .seconds(1))
        traffic.add(1_000_000)
        let snapshot = tracker.snapshot(at: Self.start + .seconds(1))
        #expect((900_000...1_100_000).contains(snapshot.bytesPerSecond), "\(snapshot.bytesPerSecond)")
        #expect((2.9...3.1).contains(snapshot.secondsLeft ?? 0))
    }

    /// A minute without a connection says nothing about the speed of the next one.
    @Test mutating func withoutAConnectionNothingIsFastOrSlow() {
        tracker.update(.connected(server: "s"), at: Self.start)
        tracker.update(.counted(files: 1, bytes: 2_000_000), at: Self.start)
        tracker.update(Self.progress("a", 1_000_000, of: 2_000_000), at: Self.start)
        traffic.add(1_000_000)
        let fast = tracker.snapshot(at: Self.start + .seconds(1))
        #expect(fast.bytesPerSecond > 9e5 && fast.secondsLeft != nil)
        tracker.update(.reconnecting(reason: "", after: 1), at: Self.start + .seconds(1))
        for second in [2.0, 60] {
            let lost = tracker.snapshot(at: Self.start + .seconds(second))
            #expect(lost.phase == .reconnecting && lost.bytesPerSecond == 0 && lost.secondsLeft == nil)
        }
        tracker.update(.connected(server: "s"), at: Self.start + .seconds(60))
        tracker.update(Self.progress("a", 1_500_000, of: 2_000_000), at: Self.start + .seconds(61))
        traffic.add(500_000)
        let again = tracker.snapshot(at: Self.start + .seconds(61))
        #expect((490_000...510_000).contains(again.bytesPerSecond), "\(again.bytesPerSecond)")
    }

    @Test mutating func numbersThatNobodyHas() {
        for name in ["a", "b"] { tracker.update(Self.progress(name, .max, of: 1), at: Self.start) }
        tracker.update(Self.report("a", .max), at: Self.start)
        let snapshot = tracker.snapshot(at: Self.start + .seconds(1))
        #expect(snapshot.totalBytes == .max)
    }

    @Test func aLineNowAndThen() {
        var pace = ProgressPace(interval: .seconds(10))
        var due: [Double] = []
        for second in [0.0, 1, 9, 10, 11, 20, 45, 50] where pace.isDue(at: Self.start + .seconds(second)) {
            due.append(second)
        }
        #expect(due == [0, 10, 20, 45])
    }
}
