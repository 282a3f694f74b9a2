import Testing

@testable import TransferCLI

@Suite struct ProgressScreenTests {
    private static let several = ProgressSnapshot(
        files: [
            FileProgress(source: "photos/a.jpg", bytes: 12_300_000, size: 27_100_000),
            FileProgress(source: "photos/映画/長い名前の動画.mp4", phase: .resuming, bytes: 3_000_000, size: 1_000_000_000),
            FileProgress(source: "photos/cafe\u{301}.png", phase: .committing, bytes: 5, size: 5),
            FileProgress(source: "logs", bytes: 2_400_000),
        ],
        totalBytes: 1_200_000_000, totalSize: 3_900_000_000, filesDone: 12, filesTotal: 400, failed: 2,
        bytesPerSecond: 110e6, secondsLeft: 24.5)

    private static let wide = [
        "photos/a.jpg                    45 %  12.3 of 27.1 MB",
        "photos/映画/長い名前の動画.mp4  resuming   0 %",
        "photos/cafe\u{301}.png                 committing",
        "logs                            2.4 MB",
    ]

    private static let narrow = [
        "photos/a.jpg             45 %",
        "photos/映画/…の動画.mp4  resuming   0 %",
        "photos/cafe\u{301}.png          committing",
        "logs                     2.4 MB",
    ]

    @Test(arguments: [
        (200, wide + ["━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌  12 of 400 files  30 %  1.2 of 3.9 GB  110 MB/s  0:25  2 failed"]),
        (80, wide + ["12 of 400 files  30 %  1.2 of 3.9 GB  110 MB/s  0:25  2 failed"]),
        (40, narrow + ["12 of 400 files  30 %  0:25  2 failed"]),
    ])
    func severalFiles(_ columns: Int, _ lines: [String]) {
        #expect(ProgressScreen.lines(for: Self.several, columns: columns, rows: 10) == lines)
    }

    @Test func asManyLinesAsThereIsRoomFor() {
        for rows in -1...6 {
            let lines = ProgressScreen.lines(for: Self.several, columns: 80, rows: rows)
            #expect(lines.count == max(1, min(rows, 5)) && lines.last?.hasPrefix("12 of 400 files") ?? false)
        }
    }

    @Test func oneFileTakesOneLine() {
        var one = ProgressLineTests.one
        one.files = [FileProgress(source: "photo.png", bytes: 12_300_000, size: 27_100_000)]
        #expect(
            ProgressScreen.lines(for: one, columns: 79, rows: 10)
                == ["photo.png  45 %  12.3 of 27.1 MB  110 MB/s  0:03"])
        #expect(
            ProgressScreen.lines(for: one, columns: 80, rows: 10)
                == ["━━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌  photo.png  45 %  12.3 of 27.1 MB  110 MB/s  0:03"])
        one.currentSize = nil
        #expect(
            ProgressScreen.lines(for: one, columns: 80, rows: 10).first?.hasPrefix("photo.png") ?? false)
    }

    @Test func whatIsNotKnownIsNotShown() {
        let files = ProgressSnapshot(filesDone: 3)
        #expect(ProgressScreen.lines(for: files, columns: 80, rows: 10) == ["3 files"])
        let lost = ProgressSnapshot(phase: .reconnecting, filesDone: 1, filesTotal: 3)
        #expect(
            ProgressScreen.lines(for: lost, columns: 80, rows: 10) == ["connection lost, trying again  1 of 3 files"])
    }

    @Test(arguments: ProgressLineTests.names, [0, 1, 5, 10, 20, 40, 80, 200])
    func neverWiderThanTheTerminal(name: String?, columns: Int) {
        for var snapshot in [Self.several, ProgressLineTests.extreme, ProgressSnapshot(filesDone: 2)] {
            snapshot.files.append(FileProgress(source: name ?? "", bytes: .max, size: .max))
            for line in ProgressScreen.lines(for: snapshot, columns: columns, rows: 24) {
                #expect(line.displayColumns <= columns)
                #expect(line.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
            }
        }
    }
}
