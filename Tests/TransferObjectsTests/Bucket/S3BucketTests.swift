import Testing
import TransferHTTP
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferObjects

@Suite(.timeLimit(.minutes(10))) struct S3BucketTests {
    private static func read(_ bucket: S3Bucket, _ key: ObjectKey, _ range: Range<UInt64>) throws(ObjectError)
        -> [UInt8]
    {
        var bytes = [UInt8](repeating: 0, count: Int(range.count))
        try bytes.withSpace { (space) throws(ObjectError) in try bucket.get(key, range, into: space) }
        return bytes
    }

    @Test(arguments: ["", "some/where"]) func storesReadsListsAndRemoves(prefix: String) async throws {
        let engine = FakeEngine()
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server, prefix: prefix)
            let key = try ObjectKey.of("data/ä b+1")
            let content = SplitMix64.bytes(seed: 1, 3_000_000)
            let metadata = try #require(ObjectMetadata(["path": "a/ö %"]))
            try bucket.put(key, ObjectContent([Array(content[..<9]), [], Array(content[9...])], metadata: metadata))

            let path = "/bucket/" + (prefix.isEmpty ? "" : prefix + "/") + "data/ä b+1"
            #expect(engine.stored[path]?.content == content)
            #expect(try Self.read(bucket, key, 0..<3_000_000) == content)
            #expect(try Self.read(bucket, key, 17..<2_999_999) == Array(content[17..<2_999_999]))
            #expect(try Self.read(bucket, key, 5..<5).isEmpty)
            #expect(try bucket.head(key) == ObjectHead(size: 3_000_000, metadata: metadata))

            let page = ObjectPage([ListedObject(key, size: 3_000_000)], isLast: true)
            #expect(try bucket.list("data/ä", after: nil, limit: 10) == page)
            #expect(try bucket.list("", after: key, limit: 10) == ObjectPage([], isLast: true))
            try bucket.delete(key)
            #expect(engine.stored.isEmpty)
            #expect(failure { () throws(ObjectError) in _ = try Self.read(bucket, key, 0..<1) }?.reason == .notFound)
            #expect(failure { () throws(ObjectError) in _ = try bucket.head(key) }?.reason == .notFound)
            bucket.closeConnections()
        }
    }

    @Test func storesEmptyObjects() async throws {
        let engine = FakeEngine()
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server)
            let key = try ObjectKey.of("empty")
            try bucket.put(key, ObjectContent([]))
            #expect(try bucket.head(key).size == 0)
            #expect(failure { () throws(ObjectError) in _ = try Self.read(bucket, key, 0..<1) }?.reason == .damaged)
        }
    }

    @Test func listsInPages() async throws {
        let engine = FakeEngine()
        for number in 0..<25 { engine.store("/bucket/p/d/\(number)", [UInt8](repeating: 0, count: number)) }
        // Keys of other programs that this store could not have written.
        engine.store("/bucket/p/d//x", [])
        engine.store("/bucket/p/d/1/../2", [])
        engine.store("/bucket/p/e", [])
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server, prefix: "p")
            var (found, last): ([ListedObject], ObjectKey?) = ([], nil)
            while true {
                let page = try bucket.list("d/", after: last, limit: 1)
                found += page.objects
                last = page.objects.last?.key
                if page.isLast { break }
                #expect(page.objects.count == 1)
            }
            let keys = (0..<25).map { "d/\($0)" }.sorted()
            #expect(found.map(\.key.text) == keys)
            #expect(found.allSatisfy { $0.key.text == "d/\($0.size)" })
        }
    }

    @Test(arguments: [
        "<Contents><Key>d/2</Key><Size>1</Size></Contents><Contents><Key>d/1</Key><Size>1</Size></Contents>",
        "<Contents><Key>d/1</Key><Size>1</Size></Contents><Contents><Key>d/1</Key><Size>1</Size></Contents>",
        "<Contents><Key>other</Key><Size>1</Size></Contents>", "<IsTruncated>true</IsTruncated>",
    ])
    func refusesListingsThatMakeNoSense(body: String) async throws {
        let engine = FakeEngine { _, connection in
            connection.answer(200, "<ListBucketResult><Name>b</Name>\(body)</ListBucketResult>")
            return true
        }
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server)
            let error = failure { () throws(ObjectError) in _ = try bucket.list("d/", after: nil, limit: 5) }
            #expect(error?.reason == .damaged)
        }
    }

    // MARK: Content

    @Test func sendsPiecesOfADescriptor() async throws {
        let engine = FakeEngine()
        let tally = Tally()
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server)
            let content = SplitMix64.bytes(seed: 2, 700_000)
            let source = ObjectContent.Source.pieces { offset, space in
                tally.next()
                let piece = content[Int(offset)...].prefix(min(space.count, 99_999))
                space.copyBytes(from: piece)
                return piece.count
            }
            try bucket.put(.of("a"), ObjectContent(size: 700_000, from: source))
            #expect(engine.stored["/bucket/a"]?.content == content)
            // Once for the digest, once for sending.
            #expect(tally.value == 16)
        }
    }

    @Test func storesNothingIfTheSourceEndsTooEarly() async throws {
        let engine = FakeEngine()
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server)
            let source = ObjectContent.Source.pieces { offset, space in
                min(space.count, offset < 1_000_000 ? 500_000 : 0)
            }
            let digest = SHA256Digest(of: [])
            let error = failure { () throws(ObjectError) in
                guard let key = ObjectKey("a") else { return }
                try bucket.put(key, ObjectContent(size: 2_000_000, sha256: digest, from: source))
            }
            #expect(error?.reason == .damaged)
            #expect(engine.stored.isEmpty)
        }
    }

    @Test func readsBackWhatTheEngineDoesNotVerify() async throws {
        let engine = FakeEngine(.init(signed: false, checksum: false, md5: false, damages: true))
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server)
            let error = failure { () throws(ObjectError) in
                guard let key = ObjectKey("a") else { return }
                try bucket.put(key, ObjectContent([[1, 2, 3]]))
            }
            #expect(error?.reason == .damaged)
            #expect(error?.message.contains("stored other bytes") == true)
        }
    }

    @Test func reportsAnObjectThatIsGoneAtOnce() async throws {
        let engine = FakeEngine { request, connection in
            guard request.method == "PUT" else { return false }
            connection.answer(200)
            return true
        }
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server)
            let key = try ObjectKey.of("a")
            let error = failure { () throws(ObjectError) in try bucket.put(key, ObjectContent([[1]])) }
            #expect(error?.reason == .damaged)
            #expect(error?.message.contains("does not find 'a'") == true)
        }
    }

    // MARK: Answers to reads

    @Test(arguments: [
        (206, "bytes 1-4/10", "abcd"), (206, "bytes 0-2/10", "abc"), (206, "", "abcd"), (206, "bytes 0-3/10", "abc"),
        (206, "bytes 3-0/10", "abcd"), (206, "bytes 0-18446744073709551615/1", "abcd"), (200, "", "abc"), (200, "", ""),
        (200, "bytes 1-4/10", "abcd"),
    ])
    func refusesOtherBytes(status: Int, range: String, content: String) async throws {
        let engine = FakeEngine { _, connection in
            connection.answer(status, range.isEmpty ? [] : [("Content-Range", range)], Array(content.utf8))
            return true
        }
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server)
            let key = try ObjectKey.of("a")
            #expect(failure { () throws(ObjectError) in _ = try Self.read(bucket, key, 0..<4) }?.reason == .damaged)
        }
    }

    @Test func readsAgainWhatArrivesDamaged() async throws {
        let tally = Tally()
        let engine = FakeEngine { _, connection in
            guard tally.next() < 3 else { return false }
            connection.answer(206, [("Content-Range", "bytes 0-3/4")], Array("abc".utf8))
            return true
        }
        engine.store("/bucket/a", Array("abcd".utf8))
        try await withServer(engine.serve) { server in
            let (bucket, key) = (try S3Bucket.fake(server), try ObjectKey.of("a"))
            #expect(try Self.read(bucket, key, 0..<4) == Array("abcd".utf8))
            #expect(engine.requests.count == 4)
        }
    }

    @Test func acceptsAWholeObjectForItsRange() async throws {
        let engine = FakeEngine(.init(ignoresRange: true))
        engine.store("/bucket/a", Array("abcd".utf8), metadata: ["x-amz-meta-n": "v"])
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server)
            let key = try ObjectKey.of("a")
            #expect(try Self.read(bucket, key, 0..<4) == Array("abcd".utf8))
            #expect(failure { () throws(ObjectError) in _ = try Self.read(bucket, key, 0..<3) }?.reason == .damaged)
            #expect(failure { () throws(ObjectError) in _ = try Self.read(bucket, key, 1..<4) }?.reason == .damaged)
            #expect(try bucket.head(key) == ObjectHead(size: 4, metadata: #require(ObjectMetadata(["n": "v"]))))
        }
    }

    @Test func needsMemoryForTheRange() async throws {
        try await withServer(FakeEngine().serve) { server in
            let bucket = try S3Bucket.fake(server)
            let key = try ObjectKey.of("a")
            let error = failure { () throws(ObjectError) in
                var bytes = [UInt8](repeating: 0, count: 3)
                try bytes.withSpace { (space) throws(ObjectError) in try bucket.get(key, 0..<4, into: space) }
            }
            #expect(error?.reason == .misconfigured)
            let huge = failure { () throws(ObjectError) in
                try bucket.get(key, 0..<UInt64.max, into: UnsafeMutableRawBufferPointer(start: nil, count: 0))
            }
            #expect(huge?.reason == .misconfigured)
        }
    }

    // MARK: Repeating

    @Test(arguments: [
        (500, "InternalError"), (502, ""), (503, "SlowDown"), (504, ""), (429, "TooManyRequests"),
        (400, "RequestTimeout"), (409, "OperationAborted"),
    ])
    func repeatsWhatMaySucceedLater(status: Int, code: String) async throws {
        let tally = Tally()
        let engine = FakeEngine { _, connection in
            guard tally.next() < 3 else { return false }
            if code.isEmpty { connection.answer(status, "<html>") } else { connection.answer(status, error: code) }
            return true
        }
        try await withServer(engine.serve) { server in
            let clock = TestClock()
            let bucket = try S3Bucket.fake(server, clock: clock.clock)
            try bucket.put(.of("a"), ObjectContent([[1]]))
            #expect(engine.stored["/bucket/a"]?.content == [1])
            // Half of 100, 200 and 400 ms.
            #expect(clock.waits == [.milliseconds(50), .milliseconds(100), .milliseconds(200)])
            #expect(bucket.counters.repetitions.value == 3)
            #expect(bucket.counters.puts.value == 4)
        }
    }

    @Test(arguments: [
        (403, "AccessDenied", ObjectError.Reason.forbidden),
        (403, "SignatureDoesNotMatch", .refused), (404, "NoSuchBucket", .noBucket), (404, "NoSuchKey", .notFound),
        (404, "", .misconfigured), (405, "MethodNotAllowed", .forbidden), (507, "XMinioStorageFull", .full),
        (400, "InvalidArgument", .misconfigured), (401, "", .refused), (403, "", .forbidden), (501, "", .misconfigured),
        (413, "", .full), (301, "PermanentRedirect", .misconfigured),
    ])
    func doesNotRepeatWhatCannotSucceed(status: Int, code: String, reason: ObjectError.Reason) async throws {
        let engine = FakeEngine { _, connection in
            connection.answer(status, error: code)
            return true
        }
        try await withServer(engine.serve) { server in
            let clock = TestClock()
            let bucket = try S3Bucket.fake(server, clock: clock.clock)
            let key = try ObjectKey.of("a")
            let error = failure { () throws(ObjectError) in try bucket.put(key, ObjectContent([[1]])) }
            #expect(error?.reason == reason)
            #expect(error?.message.hasPrefix("Storing 'a' failed: the object store at 127.0.0.1:") == true)
            #expect(engine.requests.count == 1)
            #expect(clock.waits.isEmpty)
        }
    }

    @Test(arguments: [3, 4])
    func sendsAgainWhatArrivesDamaged(times: Int) async throws {
        let tally = Tally()
        let engine = FakeEngine { request, connection in
            guard tally.next() < times else { return false }
            connection.answer(400, error: "BadDigest")
            return true
        }
        try await withServer(engine.serve) { server in
            let clock = TestClock()
            let bucket = try S3Bucket.fake(server, clock: clock.clock)
            let key = try ObjectKey.of("a")
            let error = failure { () throws(ObjectError) in try bucket.put(key, ObjectContent([[1]])) }
            #expect(error?.reason == (times > 3 ? .damaged : nil))
            #expect(engine.stored["/bucket/a"]?.content == (times > 3 ? nil : [1]))
            #expect(clock.waits == [.milliseconds(50), .milliseconds(100), .milliseconds(200)])
        }
    }

    @Test func sendsAgainWhatIsReadBackDamaged() async throws {
        let tally = Tally()
        let engine = FakeEngine(.init(signed: false, checksum: false, md5: false)) { request, connection in
            guard request.method == "GET", tally.next() == 0 else { return false }
            connection.answer(200, [], [2])
            return true
        }
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server, clock: TestClock().clock)
            try bucket.put(.of("a"), ObjectContent([[1]]))
            #expect(bucket.counters.puts.value == 2)
        }
    }

    /// A success that comes before the content cannot be about the content.
    @Test func believesNoSuccessBeforeTheContentIsSent() async throws {
        let end = Event()
        try await withServer { connection in
            _ = connection.readHead()
            connection.answer(200)
            end.wait()
        } _: { server in
            let bucket = try S3Bucket.fake(server, clock: TestClock(random: 0.99).clock)
            let key = try ObjectKey.of("a")
            let content = [UInt8](repeating: 1, count: 64 << 20)
            let error = failure { () throws(ObjectError) in try bucket.put(key, ObjectContent([content])) }
            end.fire()
            #expect(error?.reason == .unreachable)
        }
    }

    @Test func removesWhatIsNotThere() async throws {
        let engine = FakeEngine { _, connection in
            connection.answer(404, error: "NoSuchKey")
            return true
        }
        try await withServer(engine.serve) { server in try S3Bucket.fake(server).delete(.of("a")) }
    }

    @Test func namesTheRegionOfTheBucket() async throws {
        let engine = FakeEngine { _, connection in
            connection.answer(
                400, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-\u{1B}[1m</Region></Error>")
            return true
        }
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server)
            let error = failure { () throws(ObjectError) in _ = try bucket.list("", after: nil, limit: 1) }
            #expect(error?.reason == .misconfigured)
            // Text of the engine cannot control a terminal.
            #expect(error?.message.hasSuffix("in the region 'eu-\\u{1b}[1m': set AWS_REGION.") == true)
        }
    }

    @Test func waitsAsLongAsTheEngineAsks() async throws {
        let tally = Tally()
        let engine = FakeEngine { _, connection in
            guard tally.next() < 1 else { return false }
            connection.answer(503, error: "SlowDown", [("Retry-After", "7")])
            return true
        }
        try await withServer(engine.serve) { server in
            let clock = TestClock()
            try S3Bucket.fake(server, clock: clock.clock).put(.of("a"), ObjectContent([[1]]))
            #expect(clock.waits == [.seconds(7)])
        }
    }

    @Test func endsWhenTheBudgetIsUsedUp() async throws {
        let engine = FakeEngine { _, connection in
            connection.answer(503, error: "SlowDown")
            return true
        }
        try await withServer(engine.serve) { server in
            let clock = TestClock()
            let bucket = try S3Bucket.fake(server, clock: clock.clock).within(.milliseconds(300))
            let key = try ObjectKey.of("a")
            let error = failure { () throws(ObjectError) in try bucket.delete(key) }
            #expect(error?.reason == .busy)
            // 50 and 100 ms; another 200 ms would end behind the budget.
            #expect(clock.waits == [.milliseconds(50), .milliseconds(100)])
            #expect(error?.message.hasSuffix("This was attempt 3.") == true)
        }
    }

    @Test func stopsRepeatingWithoutTokens() async throws {
        let engine = FakeEngine { _, connection in
            connection.answer(503, error: "SlowDown")
            return true
        }
        try await withServer(engine.serve) { server in
            let clock = TestClock(random: 0)
            let bucket = try S3Bucket.fake(server, clock: clock.clock)
            let key = try ObjectKey.of("a")
            _ = failure { () throws(ObjectError) in try bucket.delete(key) }
            #expect(clock.waits.count == RetryTokens.most / RetryTokens.cost)
            // Until the engine works again, each call is one request.
            _ = failure { () throws(ObjectError) in try bucket.delete(key) }
            #expect(engine.requests.count == RetryTokens.most / RetryTokens.cost + 2)
        }
    }

    // MARK: Corrections

    @Test func correctsTheClock() async throws {
        let engine = FakeEngine { request, connection in
            // The engine's clock is ten hours ahead of the test's: 1,800,000,000 is 2027-01-15T08:00:00Z.
            guard request.fields["x-amz-date"] != "20270115T180000Z" else { return false }
            connection.answer(403, error: "RequestTimeTooSkewed", [("Date", "Fri, 15 Jan 2027 18:00:00 GMT")])
            return true
        }
        try await withServer(engine.serve) { server in
            let clock = TestClock()
            let bucket = try S3Bucket.fake(server, clock: clock.clock)
            try bucket.put(.of("a"), ObjectContent([[1]]))
            try bucket.delete(.of("a"))
            // The correction is remembered: one request was refused, and the object was read back.
            #expect(engine.requests.map(\.method) == ["PUT", "PUT", "GET", "DELETE"])
            #expect(clock.waits.isEmpty)
        }
    }

    @Test func reportsAClockThatCannotBeCorrected() async throws {
        let engine = FakeEngine { _, connection in
            connection.answer(403, error: "RequestTimeTooSkewed", [("Date", "Fri, 15 Jan 2027 18:00:00 GMT")])
            return true
        }
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server)
            let key = try ObjectKey.of("a")
            #expect(failure { () throws(ObjectError) in try bucket.delete(key) }?.reason == .clockSkew)
            #expect(engine.requests.count == 2)
        }
    }

    @Test func readsReplacedCredentialsAgain() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("credentials")
        func write(_ key: String) throws {
            try writeText("[default]\naws_access_key_id = \(key)\naws_secret_access_key = s\n", to: file)
        }
        try write("OLD")
        let engine = FakeEngine { request, connection in
            guard request.fields["authorization"]?.contains("Credential=OLD/") == true else { return false }
            connection.answer(403, error: "InvalidAccessKeyId")
            return true
        }
        try await withServer(engine.serve) { server in
            let source = CredentialSource.file(path: file, profile: "default")
            let bucket = try S3Bucket.fake(server, credentials: source)
            let key = try ObjectKey.of("a")
            // The file has not changed, so a second request would be refused, too.
            #expect(failure { () throws(ObjectError) in try bucket.delete(key) }?.reason == .refused)
            #expect(engine.requests.count == 1)
            try writeText("[default]\naws_access_key_id = NEW\naws_secret_access_key = s\n", to: file)
            try bucket.delete(key)
            #expect(engine.requests.last?.fields["authorization"]?.contains("Credential=NEW/") == true)
        }
    }

    @Test func sendsTheSessionToken() async throws {
        let engine = FakeEngine()
        try await withServer(engine.serve) { server in
            let credentials = try #require(Credentials(accessKey: "K", secret: "S", token: "TOKEN"))
            try S3Bucket.fake(server, credentials: .fixed(credentials)).delete(.of("a"))
            let request = try #require(engine.requests.first)
            #expect(request.fields["x-amz-security-token"] == "TOKEN")
            #expect(request.fields["authorization"]?.contains("x-amz-date;x-amz-security-token,") == true)
        }
    }
}
