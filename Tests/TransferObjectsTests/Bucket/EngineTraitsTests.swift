import Testing
import TransferHTTP
import TransferTestSupport

@testable import TransferObjects

@Suite(.timeLimit(.minutes(10))) struct EngineTraitsTests {
    /// Engines as they were seen to behave, and the digest that suffices for each.
    static let engines: [(FakeEngine.Checks, EngineTraits.Verification, Bool, String)] = [
        // Amazon verifies everything.
        (
            .init(), .signedDigest, true,
            "verifies the signed digest, x-amz-checksum-sha256, Content-MD5, and lists new objects at once."
        ),
        // SeaweedFS 4.48.
        (
            .init(signed: false), .checksum, true,
            "verifies x-amz-checksum-sha256, Content-MD5, and lists new objects at once."
        ),
        // Ceph 16.2.
        (
            .init(checksum: false), .signedDigest, true,
            "verifies the signed digest, Content-MD5, and lists new objects at once."
        ),
        // rclone 1.75.
        (
            .init(signed: false, checksum: false, rangeStatus: 200, listsNothing: true), .md5, true,
            "verifies Content-MD5, and lists new objects late."
        ),
        // An engine that refuses unknown fields.
        (
            .init(signed: false, knowsChecksum: false), .md5, false,
            "verifies Content-MD5, and lists new objects at once."
        ),
        // moto 5.2.
        (
            .init(signed: false, checksum: false, md5: false), .readBack, true,
            "verifies no digest, so each object is read back before it is acknowledged, and lists new objects at once."
        ),
    ]

    @Test(arguments: 0..<engines.count) func findsWhatIsVerified(index: Int) async throws {
        let (checks, verification, takesChecksum, line) = Self.engines[index]
        let engine = FakeEngine(checks)
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server, prefix: "p").examined()
            #expect(bucket.traits.verification == verification)
            #expect(bucket.traits.takesChecksum == takesChecksum)
            #expect(bucket.traits.line(bucket.address).hasSuffix(line))
            // Nothing is left behind, and nothing was outside of the prefix.
            #expect(engine.stored.isEmpty)
            #expect(
                engine.requests.filter { $0.method == "PUT" }.allSatisfy { $0.path.hasPrefix("/bucket/p/examination/") }
            )

            let before = engine.requests.count
            try bucket.put(.of("a"), ObjectContent([[1, 2, 3]]))
            let made = engine.requests[before...]
            let put = try #require(made.first)
            #expect(made.map(\.method) == (verification == .readBack ? ["PUT", "GET"] : ["PUT"]))
            #expect(put.fields["x-amz-content-sha256"] == SHA256Digest(of: [1, 2, 3]).description)
            #expect((put.fields["x-amz-checksum-sha256"] != nil) == takesChecksum)
            #expect((put.fields["content-md5"] != nil) == (verification == .md5))
        }
    }

    @Test(arguments: [
        (404, "NoSuchBucket", ObjectError.Reason.noBucket, "Create the bucket 'bucket', or name another one."),
        (403, "InvalidAccessKeyId", .refused, "Check the access key, the secret and the session token."),
        (
            403, "AccessDenied", .forbidden,
            "Allow these credentials to get, put, delete and list objects in the bucket 'bucket'."
        ),
    ])
    func saysWhyABucketCannotBeUsed(
        status: Int, code: String, reason: ObjectError.Reason, advice: String
    ) async throws {
        let engine = FakeEngine { request, connection in
            guard request.method == "PUT" else { return false }
            connection.answer(status, error: code)
            return true
        }
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server)
            let error = failure { () throws(ObjectError) in _ = try bucket.examined() }
            #expect(error?.reason == reason)
            #expect(error?.message.hasSuffix(advice) == true)
        }
    }

    /// SeaweedFS creates a bucket that is missing as soon as an object is stored in it.
    @Test func looksForTheBucketBeforeItStores() async throws {
        let engine = FakeEngine { request, connection in
            guard request.method == "GET" else { return false }
            connection.answer(404, error: "NoSuchBucket")
            return true
        }
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server)
            #expect(failure { () throws(ObjectError) in _ = try bucket.examined() }?.reason == .noBucket)
            #expect(!engine.requests.contains { $0.method == "PUT" })
        }
    }

    @Test func cleansUpAfterAFailure() async throws {
        let engine = FakeEngine { request, connection in
            // The second listing, after an object was stored.
            guard request.target.contains("list-type"), request.target.contains("max-keys=10") else { return false }
            connection.answer(403, error: "AccessDenied")
            return true
        }
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server)
            #expect(failure { () throws(ObjectError) in _ = try bucket.examined() }?.reason == .forbidden)
            #expect(engine.stored.isEmpty)
        }
    }

    @Test func refusesAnEngineThatRemovesNothing() async throws {
        try await withServer(FakeEngine(.init(keepsRemoved: true)).serve) { server in
            let bucket = try S3Bucket.fake(server)
            let error = failure { () throws(ObjectError) in _ = try bucket.examined() }
            #expect(error?.reason == .forbidden)
            #expect(error?.message.contains("still has it") == true)
        }
    }

    @Test func refusesAnEngineThatIgnoresRanges() async throws {
        try await withServer(FakeEngine(.init(ignoresRange: true)).serve) { server in
            let bucket = try S3Bucket.fake(server)
            #expect(failure { () throws(ObjectError) in _ = try bucket.examined() }?.reason == .damaged)
        }
    }

    @Test func refusesAnEngineThatChangesBytes() async throws {
        try await withServer(FakeEngine(.init(damages: true)).serve) { server in
            let bucket = try S3Bucket.fake(server)
            let error = failure { () throws(ObjectError) in _ = try bucket.examined() }
            #expect(error?.message == "The object store returns other bytes than those that it has stored.")
        }
    }

    @Test func goesOnWhenTheEngineIsBusy() async throws {
        let tally = Tally()
        let engine = FakeEngine { _, connection in
            guard tally.next() % 2 == 0 else { return false }
            connection.answer(503, error: "SlowDown")
            return true
        }
        try await withServer(engine.serve) { server in
            let bucket = try S3Bucket.fake(server).examined()
            #expect(bucket.traits.verification == .signedDigest)
            #expect(engine.stored.isEmpty)
        }
    }
}
