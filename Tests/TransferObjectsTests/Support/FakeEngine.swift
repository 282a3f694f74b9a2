import Glibc
import TransferHTTP
import TransferModel
import TransferSystem

@testable import TransferObjects

/// An object engine in memory, behind a `ScriptedServer`. It verifies what it is asked to verify, and a test can answer
/// requests in its place.
final class FakeEngine: Sendable {
    struct Object: Sendable, Equatable {
        var content: [UInt8]
        var metadata: [String: String]
    }

    /// The fields that are verified.
    struct Checks: Sendable {
        var signed = true
        var checksum = true
        var md5 = true
        /// Whether the engine knows `x-amz-checksum-sha256`; otherwise it refuses it.
        var knowsChecksum = true
        var ignoresRange = false
        /// The status of an answer with a range; that of rclone is 200.
        var rangeStatus = 206
        var listsNothing = false
        var keepsRemoved = false
        /// Changes each object that is stored.
        var damages = false
    }

    typealias Answering = @Sendable (ReceivedRequest, ScriptedServer.Connection) -> Bool

    private let objects = Locked<[String: Object]>([:])
    private let log = Locked<[ReceivedRequest]>([])
    private let checks: Checks
    private let first: Answering

    /// - Parameter first: answers a request in the engine's place, and returns whether it has.
    init(_ checks: Checks = Checks(), first: @escaping Answering = { _, _ in false }) {
        (self.checks, self.first) = (checks, first)
    }

    var stored: [String: Object] { objects.withLock { $0 } }

    func store(_ path: String, _ content: [UInt8], metadata: [String: String] = [:]) {
        objects.withLock { $0[path] = Object(content: content, metadata: metadata) }
    }

    var requests: [ReceivedRequest] { log.withLock { $0 } }

    /// The script of a server.
    func serve(_ connection: ScriptedServer.Connection) {
        while let request = connection.read() {
            log.withLock { $0.append(request) }
            if first(request, connection) { continue }
            switch request.method {
            case "PUT": put(request, connection)
            case "DELETE": delete(request, connection)
            default:
                if request.target.contains("list-type=2") {
                    list(request, connection)
                } else {
                    get(request, connection)
                }
            }
        }
    }

    private func put(_ request: ReceivedRequest, _ connection: ScriptedServer.Connection) {
        let digest = SHA256Digest(of: request.content)
        if checks.signed, request.fields["x-amz-content-sha256"] != digest.description {
            return connection.answer(400, error: "XAmzContentSHA256Mismatch")
        }
        if let checksum = request.fields["x-amz-checksum-sha256"] {
            if !checks.knowsChecksum { return connection.answer(501, error: "NotImplemented") }
            if checks.checksum, checksum != Base64Text.encode(digest.bytes) {
                return connection.answer(400, error: "BadDigest")
            }
        }
        if checks.md5, let md5 = request.fields["content-md5"] {
            var hasher = DigestHasher(.md5)
            request.content.withUnsafeBytes { hasher.update($0) }
            if md5 != Base64Text.encode(hasher.finish()) { return connection.answer(400, error: "BadDigest") }
        }
        var content = request.content
        if checks.damages, !content.isEmpty { content[content.count / 2] ^= 1 }
        // Some engines change the case of names, which must not matter.
        let metadata = request.fields.filter { $0.key.hasPrefix("x-amz-meta-") }
        store(request.path, content, metadata: metadata)
        connection.answer(200)
    }

    private func get(_ request: ReceivedRequest, _ connection: ScriptedServer.Connection) {
        guard let object = stored[request.path] else { return connection.answer(404, error: "NoSuchKey") }
        let fields = object.metadata.map { ($0.key.uppercased(), $0.value) }
        let size = object.content.count
        guard !checks.ignoresRange, let range = request.fields["range"]?.dropFirst("bytes=".count) else {
            return connection.answer(200, fields, object.content)
        }
        let ends = range.split(separator: "-").compactMap { Int($0) }
        guard ends.count == 2, ends[0] < size else { return connection.answer(416, error: "InvalidRange") }
        let last = min(ends[1], size - 1)
        connection.answer(
            checks.rangeStatus, fields + [("Content-Range", "bytes \(ends[0])-\(last)/\(size)")],
            Array(object.content[ends[0]...last])
        )
    }

    private func delete(_ request: ReceivedRequest, _ connection: ScriptedServer.Connection) {
        if !checks.keepsRemoved { objects.withLock { $0[request.path] = nil } }
        connection.send("HTTP/1.1 204 No Content\r\n\r\n")
    }

    private func list(_ request: ReceivedRequest, _ connection: ScriptedServer.Connection) {
        var query: [String: String] = [:]
        for pair in request.target.drop(while: { $0 != "?" }).dropFirst().split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = PercentEncoding.decoded(parts[1].utf8) ?? []
            query[String(parts[0])] = String(decoding: value, as: UTF8.self)
        }
        let bucket = request.path + "/"
        let (prefix, after) = (query["prefix"] ?? "", query["start-after"] ?? "")
        let keys = stored.keys.filter { $0.hasPrefix(bucket + prefix) }.map { String($0.dropFirst(bucket.count)) }
            .filter { $0.utf8.lexicographicallyPrecedes(after.utf8) == false && $0 != after }
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let shown = checks.listsNothing ? [] : Array(keys.prefix(Int(query["max-keys"] ?? "") ?? 1000))
        let contents = shown.map { key in
            let size = stored[bucket + key]?.content.count ?? 0
            return "<Contents><Key>\(PercentEncoding.component(key.utf8))</Key><Size>\(size)</Size></Contents>"
        }.joined()
        let isTruncated = shown.count < keys.count && !checks.listsNothing
        connection.answer(
            200,
            "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>\(isTruncated)</IsTruncated>\(contents)"
                + "</ListBucketResult>")
    }
}

/// A clock of a test: it stands still but for the waits, which it only notes.
final class TestClock: Sendable {
    private struct State {
        var now: Int64 = 0
        var utc: Int64 = 1_800_000_000
        var waits: [Interval] = []
    }

    private let state = Locked(State())
    private let random: Double

    /// - Parameter random: the number that is returned for each random number.
    init(random: Double = 0.5) { self.random = random }

    var waits: [Interval] { state.withLock { $0.waits } }

    func advance(seconds: Int64) {
        state.withLock {
            $0.now += seconds * 1_000_000_000
            $0.utc += seconds
        }
    }

    var clock: StoreClock {
        StoreClock(
            now: { [self] in MonotonicTime(nanoseconds: state.withLock { $0.now }) },
            utc: { [self] in UTCTime(clamping: state.withLock { $0.utc }) },
            sleep: { [self] interval in
                state.withLock {
                    $0.waits.append(interval)
                    $0.now += interval.nanoseconds
                }
            }, random: { [random] in random })
    }
}

extension S3Bucket {
    /// A bucket of a scripted server.
    static func fake(
        _ server: ScriptedServer, prefix: String = "", clock: StoreClock = TestClock().clock,
        credentials: CredentialSource? = nil, change: (inout Setup) -> Void = { _ in }
    ) throws -> S3Bucket {
        let address = try S3Address(
            "s3://bucket\(prefix.isEmpty ? "" : "/" + prefix)", .init(endpoint: server.url), environment: [:])
        var setup = Setup(credentials: credentials ?? .test)
        setup.clock = clock
        change(&setup)
        return try S3Bucket(address, setup)
    }
}

extension CredentialSource {
    static var test: CredentialSource {
        Credentials(accessKey: "KEY", secret: "SECRET").map { .fixed($0) } ?? .instance(endpoint: "")
    }
}

extension ObjectKey {
    /// A key that the test knows to be valid.
    static func of(_ text: String) throws -> ObjectKey {
        struct Invalid: Error {}
        guard let key = ObjectKey(text) else { throw Invalid() }
        return key
    }
}

/// Writes a small file.
func writeText(_ text: String, to path: String) throws {
    let number = try system("open") { open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0o600) }
    let file = Descriptor(number)
    try writeAll(Array(text.utf8), to: file.number)
}

/// The error of a call.
func failure(_ body: () throws(ObjectError) -> Void) -> ObjectError? {
    do throws(ObjectError) {
        try body()
        return nil
    } catch {
        return error
    }
}
