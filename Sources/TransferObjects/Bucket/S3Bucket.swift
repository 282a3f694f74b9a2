package import TransferHTTP
package import TransferModel
internal import TransferSystem

/// The objects below a prefix in a bucket of Amazon S3, or of an engine that speaks its protocol.
///
/// In this order: make it with `init`, find out with `examine` what the engine verifies, then call it from any number
/// of threads. Before the examination every object is read back after it was stored.
package struct S3Bucket: ObjectStore {
    /// How a bucket is reached.
    package struct Setup: Sendable {
        package var credentials: CredentialSource
        /// File with the only certificates that are trusted; nil for the system's.
        package var authorities: String?
        package var pool = PoolLimits()
        package var times = ExchangeTimes()
        package var retrying = RetryPolicy()
        package var clock = StoreClock.system

        package init(credentials: CredentialSource) { self.credentials = credentials }
    }

    /// Most objects of a page that an engine returns at once (ListObjectsV2, `max-keys`).
    private static let longestPage = 1000

    /// Most times that an object is sent again because it arrived damaged, or read again because the answer was. A
    /// network damages one of them and not the next one; the memory of a machine damages each.
    private static let mostDamages = 3

    /// The place of an answer that only explains.
    private static var explanation: AnswerPlace { .array(atMost: Exchange.longestExplanation) }

    let engine: S3Engine

    /// What is known about the engine.
    package private(set) var traits: EngineTraits

    /// Time for a request with all its repetitions. A call makes one, or two if the object is read back.
    package private(set) var budget: Interval

    /// - Throws: `misconfigured` if the certificates cannot be used. The engine is not asked yet.
    package init(_ address: S3Address, _ setup: Setup) throws(ObjectError) {
        engine = try S3Engine(address, setup)
        (traits, budget) = (.unknown, setup.retrying.budget)
    }

    package var address: S3Address { engine.address }

    package var counters: EngineCounters { engine.counters }

    /// The same bucket with another time for each call.
    package func within(_ budget: Interval) -> S3Bucket {
        var bucket = self
        bucket.budget = budget
        return bucket
    }

    /// Finds out what the engine verifies, which needs some 20 requests.
    ///
    /// - Returns: the same bucket, which stores objects accordingly.
    /// - Throws: the reason why the bucket cannot be used.
    package func examined() throws(ObjectError) -> S3Bucket {
        var bucket = self
        bucket.traits = try EngineTraits.examine(self)
        return bucket
    }

    /// Closes the connections that no call uses. The bucket can be used further.
    package func closeConnections() { engine.pool.closeKept() }

    private func path(_ key: String) -> String { address.prefix.isEmpty ? key : address.prefix + "/" + key }

    // MARK: Storing

    package func put(_ key: ObjectKey, _ content: ObjectContent) throws(ObjectError) {
        let start = monotonicNanoseconds()
        try putVerified(key, content)
        counters.putDurations.add(monotonicNanoseconds() - start)
    }

    /// Stores an object, and sends it again if it was damaged on its way.
    private func putVerified(_ key: ObjectKey, _ content: ObjectContent) throws(ObjectError) {
        var digests = PutDigests()
        if traits.takesChecksum { digests.checksum = content.sha256 }
        if traits.verification == .md5 { digests.md5 = try content.md5() }
        let call = storing(key, content, digests)
        try engine.repeating(budget, damages: Self.mostDamages) { (deadline) throws(ObjectError) in
            _ = try engine.send(call, into: Self.explanation, until: deadline)
            if traits.verification == .readBack { try compare(key, content, deadline) }
        }
    }

    /// Reads an object back that was just stored.
    private func compare(_ key: ObjectKey, _ content: ObjectContent, _ deadline: Int64) throws(ObjectError) {
        let call = S3Engine.Call(method: .get, key: path(key.text), action: "Reading '\(key)' back")
        let hasher = RunningDigest()
        do throws(ObjectError) {
            _ = try engine.send(call, into: .function(hasher.update), until: deadline)
        } catch {
            // The caller of this method knows that the object was not there before.
            guard error.reason == .notFound else { throw error }
            throw ObjectError(
                .damaged,
                "The object store at \(address.endpoint.hostField) does not find '\(key)', which it has just stored.")
        }
        let found = hasher.finish()
        guard found.size == content.size, found.sha256 == content.sha256 else {
            throw ObjectError(
                .damaged,
                "The object store at \(address.endpoint.hostField) has stored other bytes than it was sent for '\(key)'. "
                    + "Check its memory and disks.")
        }
    }

    /// The digests in the fields of a request.
    struct PutDigests {
        /// The signed one; nil for the content's own.
        var signed: SHA256Digest?
        var checksum: SHA256Digest?
        var md5: [UInt8]?
    }

    /// Stores an object with chosen digests, which are wrong only in an examination.
    func put(_ key: ObjectKey, _ content: ObjectContent, _ digests: PutDigests) throws(ObjectError) {
        let call = storing(key, content, digests)
        _ = try engine.repeating(budget) { (deadline) throws(ObjectError) in
            try engine.send(call, into: Self.explanation, until: deadline)
        }
    }

    private func storing(_ key: ObjectKey, _ content: ObjectContent, _ digests: PutDigests) -> S3Engine.Call {
        var call = S3Engine.Call(
            method: .put, key: path(key.text), content: content, digest: digests.signed, action: "Storing '\(key)'")
        if let checksum = digests.checksum {
            call.fields.append(("x-amz-checksum-sha256", Base64Text.encode(checksum.bytes)))
        }
        if let md5 = digests.md5 { call.fields.append(("content-md5", Base64Text.encode(md5))) }
        call.fields += content.metadata.fields
        return call
    }

    /// A digest that grows while an answer arrives.
    private final class RunningDigest {
        private var hasher = DigestHasher(.sha256)
        private var size: UInt64 = 0

        func update(_ bytes: UnsafeRawBufferPointer) {
            hasher.update(bytes)
            size += UInt64(bytes.count)
        }

        func finish() -> (size: UInt64, sha256: SHA256Digest) {
            var done = DigestHasher(.sha256)
            swap(&done, &hasher)
            return (size, SHA256Digest(done))
        }
    }

    // MARK: Reading

    package func get(
        _ key: ObjectKey, _ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ObjectError) {
        guard !range.isEmpty else { return }
        guard let count = Int(exactly: range.upperBound - range.lowerBound), count <= buffer.count else {
            throw ObjectError(.misconfigured, "Reading '\(key)' failed: there is no memory for its range.")
        }
        let target = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        let call = S3Engine.Call(
            method: .get, key: path(key.text),
            fields: [("range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")], action: "Reading '\(key)'")
        try engine.repeating(budget, damages: Self.mostDamages) { (deadline) throws(ObjectError) in
            let answer = try engine.send(call, into: .memory(target), until: deadline)
            // rclone answers a range with the status 200, but says which one. An engine that ignores Range says nothing,
            // and is right only about ranges from the start of an object.
            let found = ContentRange(answer.head.fields)?.range
            let isRange = found.map { $0 == range } ?? (answer.head.status != 206 && range.lowerBound == 0)
            guard isRange, answer.size == count else {
                throw ObjectError(
                    .damaged,
                    "Reading '\(key)' failed: the object store at \(address.endpoint.hostField) returned "
                        + "\(answer.size) bytes instead of bytes \(range.lowerBound) to \(range.upperBound - 1).")
            }
        }
    }

    package func head(_ key: ObjectKey) throws(ObjectError) -> ObjectHead {
        // HEAD is avoided: an engine was seen to report a size for an object that GET returned empty.
        let call = S3Engine.Call(
            method: .get, key: path(key.text), fields: [("range", "bytes=0-0")], action: "Examining '\(key)'")
        do throws(ObjectError) {
            return try head(call)
        } catch {
            // An empty object has no byte 0.
            guard error.reason == .damaged else { throw error }
            var whole = call
            whole.fields = []
            return try head(whole)
        }
    }

    private func head(_ call: S3Engine.Call) throws(ObjectError) -> ObjectHead {
        let answer = try engine.repeating(budget) { (deadline) throws(ObjectError) in
            try engine.send(call, into: .function { _ in }, until: deadline)
        }
        let range = ContentRange(answer.head.fields)
        let size = range.map(\.size) ?? (answer.head.status == 206 ? nil : UInt64(answer.size))
        guard let size else {
            throw ObjectError(
                .damaged, "\(call.action) failed: the object store at \(address.endpoint.hostField) reports no size.")
        }
        return ObjectHead(size: size, metadata: ObjectMetadata(answer.head.fields))
    }

    // MARK: Removing and listing

    package func delete(_ key: ObjectKey) throws(ObjectError) {
        let call = S3Engine.Call(method: .delete, key: path(key.text), action: "Removing '\(key)'")
        do throws(ObjectError) {
            _ = try engine.repeating(budget) { (deadline) throws(ObjectError) in
                try engine.send(call, into: Self.explanation, until: deadline)
            }
        } catch {
            guard error.reason == .notFound else { throw error }
        }
    }

    package func list(
        _ prefix: String, after last: ObjectKey?, limit: Int
    ) throws(ObjectError) -> ObjectPage {
        var cursor = last.map { Array(path($0.text).utf8) }
        while true {
            let answer = try page(path(prefix), after: cursor, min(max(1, limit), Self.longestPage))
            let objects = try checked(answer, below: path(prefix), after: cursor)
            // A page may have only keys of other programs that cannot be keys here. Those are passed by.
            guard objects.isEmpty, answer.isTruncated, let next = answer.entries.last?.key else {
                return ObjectPage(objects, isLast: !answer.isTruncated)
            }
            cursor = next
        }
    }

    private func page(_ prefix: String, after cursor: [UInt8]?, _ limit: Int) throws(ObjectError) -> ListAnswer {
        var call = S3Engine.Call(method: .get, action: "Listing '\(prefix)'")
        call.query = [
            ("list-type", "2"), ("encoding-type", "url"), ("max-keys", String(limit)), ("prefix", prefix),
        ]
        if let cursor {
            guard let text = String(validating: cursor, as: UTF8.self) else {
                throw ObjectError(.damaged, "\(call.action) failed: a key in the bucket is not UTF-8.")
            }
            call.query.append(("start-after", text))
        }
        return try engine.repeating(budget) { (deadline) throws(ObjectError) in
            let answer = try engine.send(call, into: .array(atMost: ListAnswer.largest), until: deadline)
            do throws(XMLScanner.Fault) {
                return try ListAnswer(answer.content)
            } catch {
                throw ObjectError(.damaged, "\(call.action) failed: the answer is unusable, \(error.message).")
            }
        }
    }

    /// Checks that a page goes on where the previous one has ended. Otherwise a loop over pages might never end, or
    /// miss objects.
    private func checked(
        _ answer: ListAnswer, below prefix: String, after cursor: [UInt8]?
    ) throws(ObjectError) -> [ListedObject] {
        var latest = cursor ?? []
        var objects: [ListedObject] = []
        let strip = address.prefix.isEmpty ? 0 : address.prefix.utf8.count + 1
        for entry in answer.entries {
            guard latest.lexicographicallyPrecedes(entry.key), entry.key.starts(with: prefix.utf8) else {
                throw ObjectError(
                    .damaged,
                    "Listing '\(prefix)' failed: the object store at \(address.endpoint.hostField) returns keys out of "
                        + "order, or others than those asked for.")
            }
            latest = entry.key
            guard let text = String(validating: entry.key.dropFirst(strip), as: UTF8.self), let key = ObjectKey(text)
            else { continue }
            objects.append(ListedObject(key, size: entry.size))
        }
        guard !answer.isTruncated || !answer.entries.isEmpty else {
            throw ObjectError(.damaged, "Listing '\(prefix)' failed: a page is empty and not the last one.")
        }
        return objects
    }
}

/// The value of Content-Range for one range (RFC 9110, section 14.4): `bytes 0-9/443`.
package struct ContentRange: Equatable {
    package let range: Range<UInt64>
    /// Size of the whole object; nil if the engine does not know it.
    package let size: UInt64?

    /// - Returns: nil if the field is missing or malformed.
    package init?(_ fields: HTTPFields) {
        guard let field = fields.values("content-range").first, let text = String(validating: field, as: UTF8.self),
            text.utf8.starts(with: "bytes ".utf8)
        else { return nil }
        let parts = text.utf8.dropFirst(6).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard ends.count == 2, let first = UInt64(Substring(ends[0])), let last = UInt64(Substring(ends[1])),
            first <= last, last < .max
        else { return nil }
        range = first..<last + 1
        size = UInt64(Substring(parts[1]))
    }
}
