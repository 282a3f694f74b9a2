import Glibc
import Testing
import TransferCodec
import TransferHTTP
import TransferModel
import TransferTestSupport

/// Thumbnails by the real program: its decoder is confined and lives for one picture.
@Suite(.ownThreads) struct ThumbnailRunTests {
    /// Asks for a path, and reads until the server closes the connection.
    private static func get(_ server: RunningServer, _ target: String) throws -> (status: Int, content: [UInt8]) {
        let socket = try PeerSocket.connected(to: server.address)
        defer { close(socket) }
        let request = Array("GET \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        try #require(send(socket, request, request.count, 0) == request.count)
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            answer += buffer[..<count]
        }
        let end = try #require(answer.firstRange(of: Array("\r\n\r\n".utf8)))
        let status = try #require(Int(String(decoding: answer.dropFirst(9).prefix(3), as: UTF8.self)))
        return (status, Array(answer[end.upperBound...]))
    }

    @Test func picturesHaveThumbnailsAndOthersAReason() throws {
        let server = try RunningServer(["--http", "on"])
        let sources = try TemporaryDirectory()
        let files: [(name: String, bytes: [UInt8])] = [
            ("good.png", PNGSample.make(40, 20)), ("cut.png", PNGSample.make(40, 20, rows: 10)), ("empty.png", []),
            ("bomb.png", PNGSample.make(30_000, 30_000, rows: 1)),
            ("page.png", Array("<script>alert(1)</script>".utf8)),
        ]
        for (name, bytes) in files { try writeFile(sources.path(name), bytes) }
        let pushed = try server.push(files.map { sources.path($0.name) })
        #expect(pushed.end == .exited(0))
        // Each is asked for twice: what is known by then has to be the same.
        for _ in 1...2 {
            for name in ["good.png", "cut.png"] {
                let answer = try Self.get(server, "/.transfer/thumb/\(name)?s=320")
                #expect(answer.status == 200 && answer.content.starts(with: Array("RIFF".utf8)), "\(name)")
            }
            for (name, reason) in [
                ("empty.png", "not a picture"), ("bomb.png", "too large"), ("page.png", "not a picture"),
            ] {
                let answer = try Self.get(server, "/.transfer/thumb/\(name)?s=320")
                #expect(answer.status == 404)
                #expect(String(decoding: answer.content, as: UTF8.self).contains(reason), "\(name)")
            }
        }
        let details = String(decoding: try Self.get(server, "/.transfer/details/bomb.png").content, as: UTF8.self)
        #expect(details.contains(#""format":"png","width":30000,"height":30000"#))
        #expect(access("\(server.directory)/.transfer/thumbs.sqlite", F_OK) == 0)
    }

    private static let hasLibrary = dlopen("libheif.so.1", RTLD_NOW) != nil

    @Test(.enabled(if: hasLibrary, "libheif is not installed")) func phonesHavePicturesOfOtherFormats() throws {
        let server = try RunningServer(["--http", "on"])
        let sources = try TemporaryDirectory()
        let files = [
            ("a.heic", HEIFSamples.heic, "128,\"height\":96"), ("a.avif", HEIFSamples.avif, "64,\"height\":48"),
            ("b.avif", HEIFSamples.transparent, "64,\"height\":48"),
        ]
        for (name, bytes, _) in files { try writeFile(sources.path(name), bytes) }
        #expect(try server.push(files.map { sources.path($0.0) }).end == .exited(0))
        for (name, _, size) in files {
            let answer = try Self.get(server, "/.transfer/thumb/\(name)?s=320")
            #expect(answer.status == 200 && answer.content.starts(with: Array("RIFF".utf8)), "\(name)")
            let details = String(decoding: try Self.get(server, "/.transfer/details/\(name)").content, as: UTF8.self)
            #expect(details.contains("\"width\":\(size)") && details.contains(#""decoded":true"#), "\(details)")
        }
    }

    /// The cache survives a server that is killed, and the next server has a helper of its own.
    @Test func aKilledServerLeavesNoHelper() throws {
        var server = try RunningServer(["--http", "on"])
        let sources = try TemporaryDirectory()
        try writeFile(sources.path("a.png"), PNGSample.make(40, 20))
        #expect(try server.push([sources.path("a.png")]).end == .exited(0))
        #expect(try Self.get(server, "/.transfer/thumb/a.png").status == 200)
        let worker = try server.waitForWorker()
        kill(worker, SIGKILL)
        _ = try server.waitForWorker(after: worker)
        #expect(try Self.get(server, "/.transfer/thumb/a.png").status == 200)
        #expect(try Self.get(server, "/.transfer/thumb/a.png?s=1280").status == 200)
        server = try server.restarted()
    }

    @Test func thumbnailsCanBeTurnedOff() throws {
        let server = try RunningServer(["--http", "on", "--thumbnails", "off"])
        #expect(try Self.get(server, "/.transfer/thumb/a.png").status == 404)
    }
}
