internal import TransferHTTP
internal import TransferModel
internal import TransferSystem

/// What an engine verifies when it stores an object. Engines differ, and some ignore digests, so the server finds out at
/// its start instead of believing a name or a version.
package struct EngineTraits: Equatable, Sendable {
    /// The cheapest digest that the engine was seen to verify.
    package enum Verification: Equatable, Sendable {
        /// The digest that the signature covers, `x-amz-content-sha256`.
        case signedDigest
        /// `x-amz-checksum-sha256`, which costs no second digest.
        case checksum
        /// Content-MD5, for which the content is digested once more.
        case md5
        /// None: each object is read back and compared before it counts as stored.
        case readBack
    }

    package let verification: Verification

    /// Whether the engine accepts `x-amz-checksum-sha256`. It is sent then in any case, because some engines keep it and
    /// verify it when they read.
    package let takesChecksum: Bool

    /// Digests of which a wrong one was refused, in words, for the log.
    package let enforced: [String]

    /// Whether an object was in a listing right after it was stored.
    package let listsAtOnce: Bool

    /// Before an examination: objects are read back.
    package static let unknown = EngineTraits(
        verification: .readBack, takesChecksum: false, enforced: [], listsAtOnce: false)

    /// A line for the log that says what was found.
    package func line(_ address: S3Address) -> String {
        let verified =
            enforced.isEmpty
            ? "verifies no digest, so each object is read back before it is acknowledged"
            : "verifies \(enforced.joined(separator: ", "))"
        let listed = listsAtOnce ? "lists new objects at once" : "lists new objects late"
        return "The object store of \(address) \(verified), and \(listed)."
    }

    // MARK: Examination

    /// Bytes of an object of the examination. More than engines keep inside of their index.
    private static let size = 20_000

    /// Stores, reads, lists and removes small objects below `examination/` and a random number, some of them with wrong
    /// digests. Removes all of them, also if it fails.
    ///
    /// - Throws: the reason why the bucket cannot be used, such as `noBucket`, `refused` or `forbidden`.
    static func examine(_ bucket: S3Bucket) throws(ObjectError) -> EngineTraits {
        var random = SecureRandom()
        let folder =
            "examination/\(String(hexadecimal: UInt32.random(in: .min ... .max, using: &random), digits: 8))"
            + String(hexadecimal: UInt32.random(in: .min ... .max, using: &random), digits: 8)
        let content = (0..<size).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        let examination = try Examination(bucket, folder, content)
        do throws(ObjectError) {
            let traits = try examination.run()
            try examination.clean()
            return traits
        } catch {
            // The first error is the cause; what cannot be removed is garbage that a sweep finds.
            try? examination.clean()
            throw error
        }
    }

    /// The objects of one examination.
    private struct Examination {
        private let bucket: S3Bucket
        private let folder: String
        private let content: ObjectContent
        private let bytes: [UInt8]
        /// Digests of other content, which the engine should refuse.
        private let wrongSHA256 = SHA256Digest(of: Array("other content".utf8))
        private let wrongMD5 = [UInt8](repeating: 7, count: 16)

        private static let metadata = ["transfer-examination": "a b/ä%"]

        init(_ bucket: S3Bucket, _ folder: String, _ bytes: [UInt8]) throws(ObjectError) {
            (self.bucket, self.folder, self.bytes) = (bucket, folder, bytes)
            content = try ObjectContent([bytes], metadata: ObjectMetadata(Self.metadata) ?? ObjectMetadata())
        }

        /// Names of all objects that the examination may store.
        private static let names = ["plain", "checksum", "md5", "wrong-signed", "wrong-checksum", "wrong-md5"]

        private func key(_ name: String) throws(ObjectError) -> ObjectKey {
            guard let key = ObjectKey("\(folder)/\(name)") else {
                throw ObjectError(.misconfigured, "The prefix of the bucket is too long.")
            }
            return key
        }

        func run() throws(ObjectError) -> EngineTraits {
            // SeaweedFS creates a missing bucket when an object is stored, so it is asked for a listing first.
            _ = try bucket.list(folder + "/", after: nil, limit: 1)
            // The basic calls have to work; their errors say what is wrong with the bucket.
            try bucket.put(try key("plain"), content, S3Bucket.PutDigests())
            try read()
            let listsAtOnce = try isListed()

            // A digest counts as verified if the right one is accepted and a wrong one is refused.
            let md5 = try content.md5()
            let takesChecksum = try accepts("checksum", S3Bucket.PutDigests(checksum: content.sha256))
            let takesMD5 = try accepts("md5", S3Bucket.PutDigests(md5: md5))
            let signed = try !accepts("wrong-signed", S3Bucket.PutDigests(signed: wrongSHA256))
            let checksum =
                takesChecksum ? try !accepts("wrong-checksum", S3Bucket.PutDigests(checksum: wrongSHA256)) : false
            let byMD5 = takesMD5 ? try !accepts("wrong-md5", S3Bucket.PutDigests(md5: wrongMD5)) : false

            let found: [(isEnforced: Bool, name: String)] = [
                (signed, "the signed digest"), (checksum, "x-amz-checksum-sha256"), (byMD5, "Content-MD5"),
            ]
            return EngineTraits(
                verification: signed ? .signedDigest : checksum ? .checksum : byMD5 ? .md5 : .readBack,
                takesChecksum: takesChecksum, enforced: found.filter(\.isEnforced).map(\.name),
                listsAtOnce: listsAtOnce)
        }

        /// Whether the engine stores an object with these digests.
        ///
        /// - Throws: errors that say nothing about digests.
        private func accepts(_ name: String, _ digests: S3Bucket.PutDigests) throws(ObjectError) -> Bool {
            do throws(ObjectError) {
                try bucket.put(try key(name), content, digests)
                return true
            } catch {
                switch error.reason {
                // A wrong digest may be refused as such, as a wrong signature, as an invalid field, or without a reason.
                // All else was permitted to these credentials a moment ago.
                case .damaged, .refused, .misconfigured, .forbidden: return false
                default: throw error
                }
            }
        }

        /// Reads the object in ranges, with its metadata.
        private func read() throws(ObjectError) {
            let key = try key("plain")
            let half = UInt64(bytes.count / 2)
            for range in [0..<UInt64(bytes.count), 1..<2, half..<half + 100] {
                var part = [UInt8](repeating: 0, count: Int(range.count))
                try part.withSpace { (space) throws(ObjectError) in
                    try bucket.get(key, range, into: space)
                }
                guard part.elementsEqual(bytes[Int(range.lowerBound)..<Int(range.upperBound)]) else {
                    throw ObjectError(.damaged, "The object store returns other bytes than those that it has stored.")
                }
            }
            let head = try bucket.head(key)
            guard head.size == UInt64(bytes.count), head.metadata.values == Self.metadata else {
                throw ObjectError(.damaged, "The object store does not keep the size or the metadata of an object.")
            }
        }

        private func isListed() throws(ObjectError) -> Bool {
            let page = try bucket.list(folder + "/", after: nil, limit: 10)
            let plain = try key("plain")
            return page.objects.contains { $0.key == plain && $0.size == UInt64(bytes.count) }
        }

        /// Removes all objects, and checks that the engine really removes them.
        func clean() throws(ObjectError) {
            for name in Self.names { try bucket.delete(try key(name)) }
            do throws(ObjectError) {
                _ = try bucket.head(try key("plain"))
            } catch {
                guard error.reason == .notFound else { throw error }
                return
            }
            throw ObjectError(
                .forbidden,
                "The object store at \(bucket.address.endpoint.hostField) answers that it has removed an object, and "
                    + "still has it. Check whether the bucket keeps objects locked.")
        }
    }
}
