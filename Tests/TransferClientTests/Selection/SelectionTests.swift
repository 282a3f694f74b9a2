import CLinux
import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

/// The uploads that a feed finds in a tree, by selection.
@Suite struct SelectionTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        for path in ["a.jpg", "a.txt", "b/c.jpg", "b/d/e.o", "b/d/keep.o", "b/x.o"] {
            try Files.write(directory.path("in/\(path)"), path)
        }
    }

    @Test func everythingByItself() throws {
        #expect(sent(Selection()) == ["in/a.jpg", "in/a.txt", "in/b/c.jpg", "in/b/d/e.o", "in/b/d/keep.o", "in/b/x.o"])
    }

    @Test func rules() throws {
        var selection = Selection()
        selection.rules = [try PathRule(.exclude, "/b/d/"), try PathRule(.include, "*.o")]
        #expect(sent(selection) == ["in/a.jpg", "in/a.txt", "in/b/c.jpg", "in/b/x.o"])
        selection.rules = [try PathRule(.include, "*.jpg")]
        #expect(sent(selection) == ["in/a.jpg", "in/b/c.jpg"])
        // Rules see only the name of a file operand.
        #expect(sent(selection, operand: "in/a.txt") == [])
        #expect(sent(selection, operand: "in/a.jpg") == ["a.jpg"])
    }

    @Test func rulesWithoutCase() throws {
        var selection = Selection()
        selection.rules = [try PathRule(.exclude, "/B/D/"), try PathRule(.include, "*.JPG")]
        #expect(sent(selection).count == 6)
        selection.ignoresCase = true
        #expect(sent(selection) == ["in/a.jpg", "in/a.txt", "in/b/c.jpg", "in/b/x.o"])
        #expect(sent(selection, operand: "in/a.jpg") == ["a.jpg"])
    }

    @Test func ignoreFiles() throws {
        try Files.write(directory.path("in/.transferignore"), "*.o\n/b/c.jpg\n")
        try Files.write(directory.path("in/b/d/.transferignore"), "!keep.o\n")
        var selection = Selection()
        selection.rules = [try PathRule(.exclude, ".transferignore")]
        #expect(sent(selection).count == 6)
        selection.ignoreFile = Selection.defaultIgnoreFile
        #expect(sent(selection) == ["in/a.jpg", "in/a.txt", "in/b/d/keep.o"])
        try Files.write(directory.path("in/.transferignore"), "b/\n")
        #expect(sent(selection) == ["in/a.jpg", "in/a.txt"])
    }

    /// Files that the ignore file may exclude must not be sent because the ignore file cannot be read.
    @Test func anIgnoreFileThatCannotBeUsed() throws {
        try Files.write(directory.path("in/b/.transferignore"), [0xFF])
        var selection = Selection()
        selection.ignoreFile = Selection.defaultIgnoreFile
        let (uploads, reports) = look(selection)
        #expect(uploads == ["in/a.jpg", "in/a.txt"])
        #expect(reports.map(\.result) == [.sourceUnreadable])
        #expect(reports.map(\.source) == [directory.path("in/b")])
        #expect(reports.map(\.message) == ["Its files are not sent: its .transferignore is not UTF-8."])
    }

    @Test func sizes() throws {
        try Files.write(directory.path("in/b/x.o"), [UInt8](repeating: 0, count: 100))
        var selection = Selection()
        selection.minimumSize = 8
        #expect(sent(selection) == ["in/b/d/keep.o", "in/b/x.o"])
        selection.maximumSize = 10
        #expect(sent(selection) == ["in/b/d/keep.o"])
        #expect(sent(selection, operand: "in/b/x.o") == [])
    }

    @Test func times() throws {
        try setTime("in/a.jpg", seconds: 1_000, nanoseconds: 5)
        try setTime("in/a.txt", seconds: 1_000, nanoseconds: 6)
        try setTime("in/b/c.jpg", seconds: 999, nanoseconds: 999_999_999)
        var selection = Selection()
        selection.rules = [try PathRule(.exclude, "*.o")]
        selection.modifiedAfter = (1_000, 5)
        #expect(sent(selection) == ["in/a.txt"])
    }

    @Test func aPlanSaysTheSame() throws {
        try Files.check(mkfifo(directory.path("in/fifo"), 0o600), "mkfifo")
        var selection = Selection()
        selection.rules = [try PathRule(.exclude, "b")]
        let plan = UploadPlan(
            [.path(directory.path("in")), .text("xyz", name: "t")], folder: "f", selection: selection)
        var lines: [String] = []
        for step in plan {
            switch step {
            case .upload(let source, let destination, let size, let isFile):
                #expect(isFile == (source != "t"))
                lines.append("\(source) \(destination) \(size ?? 0)")
            case .entry(let form, _, let destination): lines.append("\(form.rawValue) \(destination)")
            case .failure(let report): lines.append("\(report.source) \(report.result)")
            }
        }
        let path = directory.path("in")
        #expect(
            lines == [
                "\(path)/a.jpg f/in/a.jpg 5", "\(path)/a.txt f/in/a.txt 5", "\(path)/fifo sourceSkipped", "t f/t 3",
            ])
    }

    private func setTime(_ path: String, seconds: Int, nanoseconds: Int) throws {
        let time = timespec(tv_sec: seconds, tv_nsec: nanoseconds)
        try Files.check(utimensat(AT_FDCWD, directory.path(path), [time, time], 0), "utimensat")
    }

    private func sent(_ selection: Selection, operand: String = "in") -> [String] { look(selection, operand).uploads }

    private func look(
        _ selection: Selection, _ operand: String = "in"
    ) -> (uploads: [String], reports: [UploadReport]) {
        let feed = UploadFeed([.path(directory.path(operand))], folder: "", selection: selection)
        var (uploads, reports): ([String], [UploadReport]) = ([], [])
        while let item = feed.next() {
            switch item {
            case .upload(let upload): uploads.append(upload.destination)
            case .report(let report): reports.append(report)
            }
        }
        return (uploads, reports)
    }
}
