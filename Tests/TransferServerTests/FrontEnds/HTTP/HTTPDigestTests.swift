import Testing
import TransferCodec
import TransferHTTP
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Digests that clients ask for (RFC 9530), making folders, and slashes in paths.
    @Suite struct HTTPDigestTests {
        private static func field(_ content: [UInt8], _ algorithm: HTTPDigestAlgorithm) -> String {
            let digest = content.withUnsafeBytes { bytes in
                switch algorithm {
                case .sha256: return BlockHasher.digest(.sha256, bytes)
                case .sha512:
                    let hasher = LongHasher()
                    hasher.update(bytes)
                    return hasher.finish()
                }
            }
            return DigestField(digest, algorithm).text
        }

        @Test func aDigestThatIsWantedIsInTheHead() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                // The content is longer than the server reads in one turn.
                let content = SplitMix64.bytes(seed: 5, 17 << 20)
                #expect(try client.ask(.put, "/x", [], content).status == 201)
                #expect(try client.ask(.get, "/x")["repr-digest"] == nil)
                for _ in 0..<2 {
                    for (wanted, algorithm) in [
                        ("sha-256=1", HTTPDigestAlgorithm.sha256), ("sha-256=1, sha-512=9", .sha512),
                    ] {
                        let head = try client.ask(.head, "/x", [("Want-Repr-Digest", wanted)])
                        #expect(head.status == 200 && head["repr-digest"] == Self.field(content, algorithm))
                        #expect(head["content-length"] == "\(content.count)")
                    }
                }
                let whole = try client.ask(.get, "/x", [("Want-Repr-Digest", "sha-256=10")])
                #expect(whole.content == content && whole["repr-digest"] == Self.field(content, .sha256))
                let part = try client.ask(.get, "/x", [("Want-Repr-Digest", "sha-512=1"), ("Range", "bytes=1-3")])
                #expect(part.status == 206 && part.content == Array(content[1...3]))
                #expect(part["repr-digest"] == Self.field(content, .sha512))
                // A wish that cannot be met is not an error.
                for wish in ["md5=10", "sha-256=0", "sha-256=99", "?"] {
                    let answer = try client.ask(.head, "/x", [("Want-Repr-Digest", wish)])
                    #expect(answer.status == 200 && answer["repr-digest"] == nil)
                }
                let fields = [("Want-Repr-Digest", "sha-256=1"), ("If-None-Match", "*")]
                #expect(try client.ask(.get, "/x", fields).status == 304)
                try server.checkServes()
            }
        }

        @Test func anotherContentHasAnotherDigest() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                for content in [[1], [2, 3], []] as [[UInt8]] {
                    let put = try client.ask(.put, "/x", [("Want-Repr-Digest", "sha-512=1")], content)
                    #expect(put.status < 300)
                    let both = "\(Self.field(content, .sha256)), \(Self.field(content, .sha512))"
                    #expect(put["repr-digest"] == both)
                    let head = try client.ask(.head, "/x", [("Want-Repr-Digest", "sha-256=1")])
                    #expect(head["repr-digest"] == Self.field(content, .sha256))
                }
            }
        }

        @Test func digestsThatAreKeptAreBounded() {
            let digests = ReprDigests()
            let version = { (number: UInt64) in ContentVersion(object: number, revision: 1, touch: 1, size: 1) }
            for number in 0..<10_000 as Range<UInt64> { digests.add([1], .sha256, of: version(number)) }
            #expect(digests.find(version(0), .sha256) == nil && digests.find(version(9_999), .sha512) == nil)
            for number in [9_999, 9_999 - 4_095] as [UInt64] {
                #expect(digests.find(version(number), .sha256) != nil)
            }
            #expect(digests.find(version(9_999 - 4_096), .sha256) == nil)
        }

        @Test func foldersAreMade() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                let made = try client.ask(.put, "/a/b%20c/")
                #expect(made.status == 201 && made["location"] == "/a/b%20c/")
                #expect(try client.ask(.put, "/a/b%20c/", [], []).status == 200)
                #expect(server.tree == ["a", "a/b c"])
                #expect(try client.ask(.put, "/d/", [("If-None-Match", "*")]).status == 201)
                #expect(try client.ask(.put, "/d/", [("If-None-Match", "*")]).status == 412)
                #expect(try client.ask(.put, "/e/", [], [1]).status == 400)
                #expect(try client.ask(.put, "/f", [], [1]).status == 201)
                #expect(try client.ask(.put, "/f/").status == 409)
                #expect(try client.ask(.put, "/f/g/").status == 409)
                #expect(try client.ask(.put, "/.transfer/x/").status == 400)
                #expect(server.tree == ["a", "a/b c", "d", "f"])
                #expect(try client.ask(.get, "/d/?json").content == Array("[\n]\n".utf8))
                try server.checkServes()
            }
        }

        @Test func aFileWithASlashIsNotRemoved() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.put, "/f", [], [1]).status == 201)
                #expect(try client.ask(.delete, "/f/").status == 409)
                #expect(server.content("f") == [1])
                #expect(try client.ask(.delete, "/f").status == 204)
                #expect(try client.ask(.delete, "/f/").status == 404)
            }
        }
    }
}
