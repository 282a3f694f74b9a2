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

    private static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt32(data.count))
        let checked = Array(name.utf8) + data
        bytes += checked
        bytes.append(bigEndian: checked.withUnsafeBytes { PNGChecksum.of($0) })
        return bytes
    }

    /// A grey picture of these pixels, not compressed.
    private static func png(_ width: Int, _ height: Int, rows: Int? = nil) -> [UInt8] {
        var header: [UInt8] = []
        header.append(bigEndian: UInt32(width))
        header.append(bigEndian: UInt32(height))
        header += [8, 0, 0, 0, 0]
        var raw: [UInt8] = []
        for row in 0..<(rows ?? height) {
            raw.append(0)
            for column in 0..<width { raw.append(UInt8(truncatingIfNeeded: column + row)) }
        }
        var stream: [UInt8] = [0x78, 0x01, 0x01]
        stream.append(littleEndian: UInt16(raw.count))
        stream.append(littleEndian: ~UInt16(raw.count))
        stream += raw
        stream.append(bigEndian: PNGChecksum.adler(raw))
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header) + chunk("IDAT", stream)
            + chunk("IEND", [])
    }

    @Test func picturesHaveThumbnailsAndOthersAReason() throws {
        let server = try RunningServer(["--http", "on"])
        let sources = try TemporaryDirectory()
        let files: [(name: String, bytes: [UInt8])] = [
            ("good.png", Self.png(40, 20)), ("cut.png", Self.png(40, 20, rows: 10)), ("empty.png", []),
            ("bomb.png", Self.png(30_000, 30_000, rows: 1)), ("page.png", Array("<script>alert(1)</script>".utf8)),
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

    /// The cache survives a server that is killed, and the next server has a helper of its own.
    @Test func aKilledServerLeavesNoHelper() throws {
        var server = try RunningServer(["--http", "on"])
        let sources = try TemporaryDirectory()
        try writeFile(sources.path("a.png"), Self.png(40, 20))
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

/// The checksums of PNG (section 5.5) and of zlib (RFC 1950), bit by bit.
private enum PNGChecksum {
    static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        var sum = ~UInt32(0)
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? (sum >> 1) ^ 0xEDB8_8320 : sum >> 1 }
        }
        return ~sum
    }

    static func adler(_ bytes: [UInt8]) -> UInt32 {
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return high << 16 | low
    }
}
