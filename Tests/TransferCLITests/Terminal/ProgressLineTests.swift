import Testing

@testable import TransferCLI

@Suite struct ProgressLineTests {
    static let one = ProgressSnapshot(
        currentFile: "photo.png", currentBytes: 12_300_000, currentSize: 27_100_000, filesTotal: 1,
        bytesPerSecond: 110e6, secondsLeft: 2.2)

    static let many = ProgressSnapshot(
        currentFile: "photo.png", currentBytes: 12_300_000, currentSize: 27_100_000, totalBytes: 310, totalSize: 1_000,
        filesDone: 12, filesTotal: 400, bytesPerSecond: 110e6, secondsLeft: 3)

    static func changed(
        _ snapshot: ProgressSnapshot, _ change: (inout ProgressSnapshot) -> Void
    ) -> ProgressSnapshot {
        var snapshot = snapshot
        change(&snapshot)
        return snapshot
    }

    static let lines: [(ProgressSnapshot, Int, String)] = [
        (one, 80, "photo.png  45 %  12.3 of 27.1 MB  110 MB/s  0:03"),
        (one, 40, "photo.png  45 %  110 MB/s  0:03"),
        (one, 21, "photo.png  45 %  0:03"),
        (one, 20, "phot…png  45 %  0:03"),
        (many, 80, "photo.png  45 %  12.3 of 27.1 MB  110 MB/s  0:03 | 12 of 400 files, 31 %"),
        (many, 60, "photo.png  45 %  110 MB/s  0:03 | 12 of 400 files, 31 %"),
        (many, 40, "photo.png  0:03 | 12 of 400 files, 31 %"),
        (many, 24, "12 of 400 files, 31 %"),
        (many, 10, "12 of…31 %"),
        (changed(many) { $0.failed = 2 }, 40, "12 of 400 files, 31 %, 2 failed"),
        (changed(one) { $0.failed = 1 }, 80, "photo.png  45 %  12.3 of 27.1 MB  110 MB/s  0:03 | 1 failed"),
        (changed(one) { $0.phase = .resuming }, 80, "photo.png  resuming  45 %  12.3 of 27.1 MB  110 MB/s  0:03"),
        (
            changed(one) {
                $0.phase = .committing
                $0.currentBytes = 27_100_000
            }, 80, "photo.png  committing  99 %  27.1 of 27.1 MB  110 MB/s  0:03"
        ),
        (
            changed(one) { $0.currentFile = "a\u{1B}[2J\nb" }, 80,
            "a\\u{1b}[2J\\nb  45 %  12.3 of 27.1 MB  110 MB/s  0:03"
        ),
        (ProgressSnapshot(phase: .scanning, filesDone: 0), 80, "looking for files"),
        (ProgressSnapshot(phase: .connecting), 80, "connecting"),
        (
            ProgressSnapshot(currentFile: "logs.tar", currentBytes: 2_400_000, filesTotal: 1, bytesPerSecond: 1e6), 80,
            "logs.tar  2.4 MB  1.0 MB/s"
        ),
        (ProgressSnapshot(filesDone: 1), 80, "1 file"),
        (ProgressSnapshot(filesDone: 7), 80, "7 files"),
        (
            ProgressSnapshot(phase: .finished, totalBytes: 5, totalSize: 5, filesDone: 3, filesTotal: 3), 80,
            "done | 3 of 3 files, 100 %"
        ),
        (ProgressSnapshot(totalBytes: 5, totalSize: 5, filesDone: 2, filesTotal: 3), 80, "2 of 3 files, 99 %"),
        (ProgressSnapshot(), 80, ""),
    ]

    @Test(arguments: lines.indices) func line(_ index: Int) {
        let (snapshot, columns, text) = Self.lines[index]
        #expect(ProgressLine.text(for: snapshot, columns: columns) == text)
    }

    static let names = [
        nil, "", "a", "photo.png", String(repeating: "long name ", count: 400) + ".jpeg", "日本語の長い名前の写真です.png",
        "👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧.jpg", "a\r\n\u{1B}[2J\u{202E}gpj.exe", "e" + String(repeating: "\u{301}", count: 300),
    ]

    @Test(arguments: names, [0, 1, 5, 10, 20, 40, 80, 120])
    func neverWiderThanTheTerminal(name: String?, columns: Int) {
        for phase in [.sending, .reconnecting, .finished] as [ProgressSnapshot.Phase] {
            for snapshot in [Self.one, Self.many, Self.extreme, ProgressSnapshot()] {
                var snapshot = snapshot
                snapshot.phase = phase
                snapshot.currentFile = name
                let line = ProgressLine.text(for: snapshot, columns: columns)
                #expect(line.displayColumns <= columns)
                #expect(line.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
            }
        }
    }

    static let extreme = ProgressSnapshot(
        currentBytes: .max, currentSize: .max, totalBytes: .max, totalSize: .max, filesDone: .max, filesTotal: .max,
        failed: .max, bytesPerSecond: .infinity, secondsLeft: .infinity)

    @Test func nameUsesTheRoomThatIsLeft() {
        var snapshot = Self.many
        snapshot.currentFile = String(repeating: "x", count: 200)
        for columns in [80, 120] {
            #expect(ProgressLine.text(for: snapshot, columns: columns).displayColumns == columns)
        }
    }
}
