import Glibc
import Testing
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferObjects

/// Tests against the engine that the environment names: TRANSFER_S3_ENDPOINT, TRANSFER_S3_KEY, TRANSFER_S3_SECRET and
/// TRANSFER_S3_BUCKET, an empty bucket. They are skipped without these variables.
@Suite(.timeLimit(.minutes(30)), .enabled(if: getenv("TRANSFER_S3_ENDPOINT") != nil), .serialized)
struct RealEngineTests {
    static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// A bucket with a prefix of its own.
    private static func bucket(_ change: (inout S3Bucket.Setup) -> Void = { _ in }, secret: String? = nil) throws
        -> S3Bucket
    {
        let name = variable("TRANSFER_S3_BUCKET") ?? "transfer"
        let prefix = String(hexadecimal: UInt32.random(in: 0 ... .max), digits: 8)
        let address = try S3Address(
            "s3://\(name)/test-\(prefix)", .init(endpoint: variable("TRANSFER_S3_ENDPOINT")), environment: [:])
        let key = variable("TRANSFER_S3_KEY") ?? "", secret = secret ?? variable("TRANSFER_S3_SECRET") ?? ""
        let credentials = try #require(Credentials(accessKey: key, secret: secret))
        var setup = S3Bucket.Setup(credentials: .fixed(credentials))
        change(&setup)
        return try S3Bucket(address, setup)
    }

    private static func read(_ bucket: S3Bucket, _ key: ObjectKey, _ range: Range<UInt64>) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(range.count))
        try bytes.withSpace { (space) throws(ObjectError) in try bucket.get(key, range, into: space) }
        return bytes
    }

    @Test func examines() async throws {
        try await TestThread.run {
            let bucket = try Self.bucket().examined()
            print(bucket.traits.line(bucket.address))
            #expect(try bucket.list("", after: nil, limit: 10) == ObjectPage([], isLast: true))
        }
    }

    @Test func storesReadsListsAndRemoves() async throws {
        try await TestThread.run {
            let bucket = try Self.bucket().examined()
            let metadata = try #require(ObjectMetadata(["path": "a/ö %/名", "digest": "xxh128:00"]))
            let sizes = [0, 1, 4096, 5_000_001]
            for size in sizes {
                let key = try ObjectKey.of("d/\(size) ä+%25~$&")
                let content = SplitMix64.bytes(seed: UInt64(size), size)
                try bucket.put(key, ObjectContent([content], metadata: metadata))
                #expect(try Self.read(bucket, key, 0..<UInt64(size)) == content)
                if size > 100 { #expect(try Self.read(bucket, key, 7..<99) == Array(content[7..<99])) }
                #expect(try bucket.head(key) == ObjectHead(size: UInt64(size), metadata: metadata))
                #expect(
                    failure { () throws(ObjectError) in
                        var bytes = [UInt8](repeating: 0, count: size + 1)
                        try bytes.withSpace { (space) throws(ObjectError) in
                            try bucket.get(key, 0..<UInt64(size) + 1, into: space)
                        }
                    }?.reason == .damaged)
            }
            var (found, last): ([ListedObject], ObjectKey?) = ([], nil)
            while true {
                let page = try bucket.list("d/", after: last, limit: 2)
                found += page.objects
                last = page.objects.last?.key
                if page.isLast { break }
            }
            #expect(Set(found.map { Int($0.size) }) == Set(sizes))
            #expect(found.map(\.key) == found.map(\.key).sorted())
            for object in found {
                try bucket.delete(object.key)
                try bucket.delete(object.key)
                #expect(failure { () throws(ObjectError) in _ = try bucket.head(object.key) }?.reason == .notFound)
            }
            #expect(try bucket.list("", after: nil, limit: 10) == ObjectPage([], isLast: true))
        }
    }

    @Test func listsManyPages() async throws {
        try await TestThread.run {
            let bucket = try Self.bucket().examined()
            let keys = try (0..<250).map { try ObjectKey.of("many/\(String(hexadecimal: UInt32($0), digits: 8))") }
            let next = Tally(), failures = Tally()
            let threads = (0..<8).map { _ in
                TestThread {
                    while case let index = next.next(), index < keys.count {
                        do { try bucket.put(keys[index], ObjectContent([[1]])) } catch { failures.next() }
                    }
                }
            }
            for thread in threads { thread.join() }
            #expect(failures.value == 0)
            var (found, last): ([ObjectKey], ObjectKey?) = ([], nil)
            while true {
                let page = try bucket.list("many/", after: last, limit: 100)
                found += page.objects.map(\.key)
                last = page.objects.last?.key
                if page.isLast { break }
            }
            #expect(found == keys)
            for key in found { try bucket.delete(key) }
        }
    }

    @Test func saysWhyABucketCannotBeUsed() async throws {
        try await TestThread.run {
            let missing = try S3Address(
                "s3://no-such-bucket-here", .init(endpoint: Self.variable("TRANSFER_S3_ENDPOINT")), environment: [:])
            let key = Self.variable("TRANSFER_S3_KEY") ?? "", secret = Self.variable("TRANSFER_S3_SECRET") ?? ""
            let credentials = try #require(Credentials(accessKey: key, secret: secret))
            let bucket = try S3Bucket(missing, .init(credentials: .fixed(credentials)))
            let error = failure { () throws(ObjectError) in _ = try bucket.examined() }
            print("no bucket:", error.map { "\($0.reason): \($0.message)" } ?? "accepted")
            let wrong = try Self.bucket(secret: "wrong")
            let refusal = failure { () throws(ObjectError) in _ = try wrong.examined() }
            print("wrong secret:", refusal.map { "\($0.reason): \($0.message)" } ?? "accepted")
        }
    }

    /// Writes and reads objects of 16 MiB from four threads, and prints the rates. TRANSFER_S3_MIB has the total.
    @Test(.enabled(if: getenv("TRANSFER_S3_MIB") != nil)) func measures() async throws {
        let count = max(1, Int(Self.variable("TRANSFER_S3_MIB") ?? "").map { $0 / 16 } ?? 64)
        try await TestThread.run {
            let bucket = try Self.bucket().examined()
            let content = SplitMix64.bytes(seed: 9, 16 << 20)
            func parallel(_ body: @escaping @Sendable (ObjectKey) throws -> Void) throws -> Double {
                let begin = monotonicNanoseconds()
                let next = Tally(), failures = Tally()
                let threads = (0..<4).map { _ in
                    TestThread {
                        while case let index = next.next(), index < count {
                            do { try body(.of("segment/\(index)")) } catch { failures.next() }
                        }
                    }
                }
                for thread in threads { thread.join() }
                #expect(failures.value == 0)
                return Double(16 * count) / (Double(monotonicNanoseconds() - begin) / 1e9)
            }
            let put = try parallel { try bucket.put($0, ObjectContent([content])) }
            let get = try parallel { key in
                let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 20, alignment: 16)
                defer { space.deallocate() }
                try bucket.get(key, 0..<16 << 20, into: space)
            }
            print("PUT \(Int(put)) MiB/s, GET \(Int(get)) MiB/s, \(count) objects of 16 MiB, 4 threads")
            _ = try parallel { try bucket.delete($0) }
        }
    }
}
