import Glibc
import TransferIO
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

/// A server in this process on a port of its own, with a directory that goes when the test is over.
final class TestServer: Sendable {
    let server: Server
    let port: UInt16
    let directory: TemporaryDirectory

    init(_ change: (inout ServerConfiguration) -> Void = { _ in }) async throws {
        directory = try TemporaryDirectory()
        let endpoint = Endpoint.internet(host: "127.0.0.1", port: 0)
        var configuration = ServerConfiguration(directory: directory.path("store"), endpoints: [endpoint])
        change(&configuration)
        // The log goes nowhere; a closed descriptor must not stop the server anyway.
        server = try Server(configuration, log: Log(descriptor: -1))
        guard case .internet(_, let port) = try await server.start().first else {
            throw RawClient.Failure(description: "the server has no port")
        }
        self.port = port
    }

    func client() throws -> RawClient { try RawClient(port: port) }

    /// A client that has been welcomed.
    func greetedClient() async throws -> RawClient {
        let client = try client()
        await client.send(Frames.hello)
        guard case .message(.welcome) = try await client.next() else {
            throw RawClient.Failure(description: "the server did not welcome")
        }
        return client
    }

    func content(_ path: String) -> [UInt8]? { Self.read(directory.path("store/" + path)) }

    /// Everything in the directory but the server's own, as paths, and what it has left of incoming parts.
    var tree: [String] { Self.walk(directory.path("store"), "").filter { !$0.hasPrefix(".transfer") }.sorted() }
    var parts: [String] { Self.walk(directory.path("store/.transfer/incoming"), "").sorted() }

    /// Shows that the server is in order: stores something for somebody else.
    func checkServes() async throws {
        let client = try client()
        await client.send(Frames.hello + Frames.upload("still-serving", [1, 2, 3]))
        let result = try await client.result()
        guard result.code.isSuccess, result.isDurable, content("still-serving") == [1, 2, 3] else {
            throw RawClient.Failure(description: "the server no longer serves: \(result)")
        }
    }

    private static func read(_ path: String) -> [UInt8]? {
        let number = open(path, O_RDONLY)
        guard number >= 0 else { return nil }
        defer { close(number) }
        var (content, buffer): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 1 << 16))
        while case let count = Glibc.read(number, &buffer, buffer.count), count > 0 { content += buffer[..<count] }
        return content
    }

    private static func walk(_ path: String, _ prefix: String) -> [String] {
        guard let stream = opendir(path) else { return [] }
        defer { closedir(stream) }
        var found: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            found.append(prefix + name)
            if entry.pointee.d_type == UInt8(DT_DIR) { found += walk(path + "/" + name, prefix + name + "/") }
        }
        return found
    }
}
