import Glibc
import Testing
import TransferTestSupport

/// `push --verify-pictures`, with the real program on both sides.
@Suite(.ownThreads) struct VerifiedPicturesTests {
    private let files: BatchFiles

    init() throws {
        files = try BatchFiles(["note.txt"])
        for (name, bytes) in [
            ("good.png", PNGSample.make(40, 20)), ("cut.png", PNGSample.make(40, 20, rows: 10)),
            ("zeros.jpg", [UInt8](repeating: 0, count: 5_000)), ("bomb.png", PNGSample.make(30_000, 30_000, rows: 1)),
        ] {
            try writeFile(files.home.path(name), bytes)
        }
    }

    /// Also when the server has the pictures already, and has decoded them before.
    @Test func damagedPicturesAreReportedAndStored() throws {
        let server = try RunningServer()
        for isThere in [false, true] {
            let push = try files.push(
                server, "good.png", "cut.png", "zeros.jpg", "bomb.png", "note.txt", "--verify-pictures")
            #expect(push.end == .exited(1))
            for line in [
                "damaged  cut.png: The picture is cut off or damaged: only a part of it can be decoded.\n",
                "damaged  zeros.jpg: The content is not that of a picture.\n",
                "not checked  bomb.png: The picture is too large for the server to decode.\n",
                ", 2 damaged pictures, 1 picture not checked",
            ] { #expect(push.errors.contains(line), "\(push.errors)") }
            #expect(!push.errors.contains("good.png") && !push.errors.contains("note.txt"))
            #expect(push.lines.count == 5)
            #expect(push.lines.allSatisfy { $0.hasPrefix(isThere ? "alreadyStored" : "committed") })
        }
        #expect(server.visibleFiles == ["bomb.png", "cut.png", "good.png", "note.txt", "zeros.jpg"])
    }

    @Test func soundPicturesSucceed() throws {
        let server = try RunningServer()
        let push = try files.push(server, "good.png", "note.txt", "--verify-pictures", "--json")
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(push.lines.count == 2 && push.lines.allSatisfy { $0.contains(#""result":"committed""#) })
        let picture =
            #""picture":{"decoded":true,"format":"png","width":40,"height":20,"taken":null,"reason":null}"#
        #expect(push.lines.count { $0.contains(picture) } == 1)
        #expect(push.lines.count { $0.contains(#""picture":"#) } == 1)
    }

    /// The acknowledgement has the digest of one function, and the server may know that of another.
    @Test func anotherDigestFunctionIsNoOtherContent() throws {
        let server = try RunningServer()
        for flags in [[], ["--digest", "sha256"], []] {
            let push = try server.push(["good.png", "--verify-pictures"] + flags, to: "", files.here)
            #expect(push.end == .exited(0), "\(push.errors)")
        }
    }

    /// A TIFF is a picture, but none that the server decodes.
    @Test func otherFormatsAreNotDamaged() throws {
        let server = try RunningServer()
        try writeFile(files.home.path("scan.tiff"), Array("II*\0".utf8) + [UInt8](repeating: 0, count: 200))
        let push = try files.push(server, "scan.tiff", "--verify-pictures")
        #expect(push.end == .exited(0))
        #expect(
            push.errors.contains("not checked  scan.tiff: The server has no decoder for this format."), "\(push.errors)"
        )
    }

    /// Only what is proved to be a whole picture is removed.
    @Test func damagedSourcesStay() throws {
        let server = try RunningServer()
        let push = try files.push(
            server, "good.png", "cut.png", "bomb.png", "note.txt", "--verify-pictures", "--delete-source", "--json")
        #expect(push.end == .exited(1))
        #expect(push.errors.contains("not removed  cut.png: The server has not decoded all of the picture.\n"))
        #expect(push.errors.contains(", 1 damaged picture, 1 picture not checked, 2 removed here, 2 not removed here"))
        #expect(TransferCLITests.files(below: files.home.path) == ["bomb.png", "cut.png", "zeros.jpg"])
        #expect(push.lines.count { $0.contains(#""sourceDeleted":true"#) } == 2)
    }

    @Test func aServerWithoutDecodersSaysSo() throws {
        let server = try RunningServer(["--thumbnails", "off"])
        let push = try files.push(server, "good.png", "--verify-pictures")
        #expect(push.errors.contains("not checked  good.png: The server cannot decode pictures"), "\(push.errors)")
        #expect(push.end == .exited(1))
        #expect(server.visibleFiles == ["good.png"])
    }

    @Test func onlySuchServersAreAsked() throws {
        for target in ["https://localhost/", "--classic"] {
            let to = target == "--classic" ? ["--classic", "header7", "--to", "localhost:1"] : ["--to", target]
            let push = try Finished(["push", "--verify-pictures", files.home.path("good.png")] + to)
            #expect(push.end == .exited(2) && push.errors.contains("--verify-pictures"), "\(push.errors)")
        }
    }

    /// More pictures than the server decodes at once.
    @Test func manyAreCheckedWhileOthersAreSent() throws {
        let server = try RunningServer()
        for number in 0..<200 {
            try writeFile(
                files.home.path("p\(number).png"), PNGSample.make(40, 20 + number % 7, rows: number % 50 == 0 ? 3 : nil)
            )
        }
        let names = (0..<200).map { "p\($0).png" }
        let push = try server.push(names + ["--verify-pictures", "--quiet"], to: "", files.here)
        #expect(push.end == .exited(1))
        #expect(push.errors.split(separator: "\n").count { $0.hasPrefix("damaged  p") } == 4, "\(push.errors)")
        #expect(push.errors.split(separator: "\n").count == 4)
    }
}
