import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

@Suite struct UploadFeedTests {
    @Test func lastComponents() throws {
        let directory = try TemporaryDirectory()
        let name = String(directory.path.split(separator: "/").last ?? "")
        try Files.makeDirectory(directory.path("inner"))
        for (path, expected) in [
            ("file", "file"), ("a/b/c.txt", "c.txt"), ("dir/", "dir"), ("/abs//dir///", "dir"), ("/", "root"),
            ("a/\u{301}b", "\u{301}b"), ("照/片", "片"), (directory.path, name), (directory.path("."), name),
            (directory.path("inner/.."), name), (directory.path("inner/../"), name),
            (directory.path("inner/."), "inner"), ("/.", "root"), ("/..", "root"),
        ] { #expect(UploadFeed.lastComponent(path) == expected, "\(path)") }
    }

    @Test func whatIsPutBackComesFirstInItsOrder() {
        let feed = UploadFeed((0..<5).map { Upload.text("", name: "\($0)") }, folder: "f")
        var taken: [PendingUpload] = []
        while taken.count < 3, case .upload(let upload)? = feed.next() { taken.append(upload) }
        feed.putBack(taken)
        feed.putBack([])
        #expect(Self.labels(feed) == ["0", "1", "2", "3", "4"])
        #expect(Self.labels(feed).isEmpty)
        feed.putBack(taken)
        #expect(feed.takeReturned().map(\.label) == ["0", "1", "2"])
        #expect(Self.labels(feed).isEmpty)
        #expect(taken.map(\.destination) == ["f/0", "f/1", "f/2"])
        #expect(Set(taken.map(\.id)).count == 3)
    }

    /// A file named twice makes two uploads; two files whose names are equal as Unicode strings each have a stable ID.
    @Test func namesThatLookAlikeAreNotTheSame() throws {
        let directory = try TemporaryDirectory()
        let paths = ["\u{E9}", "e\u{301}"].map { directory.path($0) }
        for path in paths { try Files.write(path, "") }
        let feed = UploadFeed((paths + [paths[0]]).map { Upload.path($0) }, folder: "")
        var ids: [UploadID] = []
        while case .upload(let upload)? = feed.next() { ids.append(upload.id) }
        // An upload without an ID gets one that is derived from the file.
        #expect(ids.count == 3 && ids[0] == UploadID.none && ids[1] == UploadID.none && ids[2] != UploadID.none)
    }

    /// If uploads replace existing files, two files of one push must not have the same destination. A file that is
    /// named twice is allowed.
    @Test(arguments: [true, false]) func twoFilesWithOneName(replaces: Bool) throws {
        let directory = try TemporaryDirectory()
        for name in ["a/x", "a/y", "b/x", "c/a/y"] { try Files.write(directory.path(name), name) }
        let named = ["a/x", "b/x", "a/x", "a", "c/a"].map { Upload.path(directory.path($0)) }
        let feed = UploadFeed(named + [.text("", name: "x")], folder: "f", replaces: replaces)
        var (sent, refused): ([String], [UploadReport]) = ([], [])
        while let item = feed.next() {
            switch item {
            case .upload(let upload): sent.append(String(upload.label.dropFirst(directory.path.utf8.count + 1)))
            case .report(let report): refused.append(report)
            }
        }
        let others = replaces ? [] : ["", "b/x", "c/a/y"]
        #expect(sent.sorted() == (["a/x", "a/x", "a/x", "a/y"] + others).sorted())
        #expect(refused.map(\.destination) == (replaces ? ["f/x", "f/a/y", nil] : []))
        #expect(refused.allSatisfy { $0.result == .pathConflict && $0.message.hasPrefix("Another file of this push") })
    }

    /// The files of a folder that is compared as a whole also count for duplicate destinations.
    @Test func aFileWithTheNameOfOneInAFolder() throws {
        let directory = try TemporaryDirectory()
        for number in 0..<100 { try Files.write(directory.path("a/\(number)"), "") }
        try Files.write(directory.path("b/a/7"), "")
        let feed = UploadFeed(
            [Upload.path(directory.path("a")), .path(directory.path("b/a"))], folder: "", replaces: true)
        // The first upload opens the folder `a`.
        guard case .upload? = feed.next() else {
            Issue.record("There is no file.")
            return
        }
        var refused: [String?] = []
        while feed.nextFolder() != nil {}
        while let item = feed.next() { if case .report(let report) = item { refused.append(report.destination) } }
        #expect(refused == ["a/7"])
    }

    /// The event loop returns uploads to the feed, and must not wait for a caller's sequence that blocks.
    @Test func aSequenceThatWaitsHoldsNobodyUp() async {
        let gate = Gate()
        let asked = Gate()
        let feed = UploadFeed(
            AskedSequence {
                asked.put([])
                return gate.take() == nil ? nil : Upload.text("", name: "late")
            }, folder: "")
        let done = Gate()
        onThread {
            guard case .upload(let upload)? = feed.next() else { return }
            done.put(Array(upload.label.utf8))
        }
        await asked.wait()
        feed.putBack([PendingUpload(.bytes([]), label: "back", destination: "back", kind: nil)])
        #expect(feed.takeReturned().map(\.label) == ["back"])
        gate.put([])
        #expect(done.take() == Array("late".utf8))
    }

    @Test func directoriesAreWalkedInTheOrderOfTheirNames() throws {
        let directory = try TemporaryDirectory()
        for name in ["b", "a/2", "a/1/x", "c/y"] { try Files.write(directory.path("in/\(name)"), "") }
        for operand in ["in", "in/", "in//"] {
            let feed = UploadFeed([.path(directory.path(operand))], folder: "")
            var destinations: [String] = []
            while case .upload(let upload)? = feed.next() { destinations.append(upload.destination) }
            #expect(destinations == ["in/a/1/x", "in/a/2", "in/b", "in/c/y"])
        }
        let named = UploadFeed([.path(directory.path("in"), name: "other")], folder: "f")
        guard case .upload(let upload)? = named.next() else {
            Issue.record("nothing was found")
            return
        }
        #expect(upload.destination == "f/other/a/1/x")
    }

    private static func labels(_ feed: UploadFeed) -> [String] {
        var labels: [String] = []
        while case .upload(let upload)? = feed.next() { labels.append(upload.label) }
        return labels
    }
}

private struct AskedSequence: Sequence, IteratorProtocol, Sendable {
    let answer: @Sendable () -> Upload?
    func next() -> Upload? { answer() }
}
