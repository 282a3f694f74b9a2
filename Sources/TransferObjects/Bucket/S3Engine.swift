internal import TransferHTTP
internal import TransferIO
internal import TransferModel
package import TransferSystem

/// Everything that the calls to one bucket share: connections, credentials, the corrected clock, and the tokens of
/// repetitions. Any thread may call at any time.
final class S3Engine: Sendable {
    let address: S3Address
    let policy: RetryPolicy
    let counters = EngineCounters()
    let pool: ConnectionPool
    private let signer: RequestSigner
    private let credentials: CredentialCache
    private let isRenewable: Bool
    private let clock: StoreClock
    private let times: ExchangeTimes
    private let tokens = RetryTokens()
    /// Seconds that are added to this machine's clock in signatures.
    private let clockOffset = Locked<Int64>(0)

    init(_ address: S3Address, _ setup: S3Bucket.Setup) throws(ObjectError) {
        guard let server = address.server else {
            throw ObjectError(.misconfigured, "The bucket '\(address.bucket)' cannot be part of a host name.")
        }
        (self.address, policy, clock, times) = (address, setup.retrying, setup.clock, setup.times)
        signer = RequestSigner(region: address.region)
        let source = setup.credentials
        isRenewable = source.isRenewable
        credentials = CredentialCache(utc: setup.clock.utc) { () throws(ObjectError) in try source.fetch() }
        pool = ConnectionPool(try Origin(server, authorities: setup.authorities), limits: setup.pool)
    }

    /// One request, not yet signed.
    struct Call {
        var method: HTTPMethod
        /// The key with the store's prefix; nil for the bucket itself.
        var key: String?
        var query: [(name: String, value: String)] = []
        /// Fields that are signed besides those of each request.
        var fields: [(name: String, value: String)] = []
        var content: ObjectContent?
        /// The digest of the content that is signed; a wrong one only in an examination.
        var digest: SHA256Digest?
        /// What the call does, for messages: "Storing 'KEY'".
        var action: String
    }

    /// The digest of no content, which requests without content sign.
    private static let emptyDigest = SHA256Digest(of: [])

    // MARK: Repeating

    /// Runs an attempt until it succeeds, fails in a way that no repetition helps, or the budget is used up.
    ///
    /// - Parameters:
    ///   - damages: how many attempts may fail because bytes were damaged before the last one.
    ///   - attempt: gets the time of the monotonic clock at which it must be over.
    func repeating<Value>(
        _ budget: Interval, damages: Int = 0, _ attempt: (_ deadline: Int64) throws(ObjectError) -> Value
    ) throws(ObjectError) -> Value {
        let end = clock.now() + budget
        var (number, damages, paid): (Int, Int, Int?) = (0, damages, nil)
        while true {
            do throws(ObjectError) {
                let value = try attempt(monotonicDeadline(after: (end - clock.now()).nanoseconds))
                tokens.succeed(paid: paid)
                return value
            } catch {
                guard error.isTransient || (error.reason == .damaged && damages > 0) else {
                    throw number == 0 ? error : error.after(attempts: number + 1)
                }
                if error.reason == .damaged { damages -= 1 }
                let wait = policy.wait(before: number, random: clock.random(), asked: error.wait)
                // A wait that ends behind the budget is not begun: the caller can do something better with the time.
                guard clock.now() + wait < end, let cost = tokens.pay(forSilence: error.reason == .unreachable) else {
                    throw number == 0 ? error : error.after(attempts: number + 1)
                }
                (number, paid) = (number + 1, cost)
                counters.repetitions.add()
                clock.sleep(wait)
            }
        }
    }

    // MARK: Sending

    /// Sends a request and returns the answer if it is a success.
    ///
    /// The clock and the credentials are corrected at most once each: on `RequestTimeTooSkewed` by the answer's Date,
    /// and on refused credentials by fetching them again.
    func send(_ call: Call, into place: AnswerPlace, until deadline: Int64) throws(ObjectError) -> HTTPAnswer {
        var (mayCorrectClock, mayRenew) = (true, isRenewable)
        while true {
            let used = try credentials.current()
            let answer = try exchange(call, used, place, deadline)
            if answer.isSuccess {
                // A success before all content was sent cannot be the answer to this content.
                guard !answer.isEarly else { throw failure(call, ExchangeFault(.stream(.truncated))) }
                return answer
            }
            let problem = EngineProblem(answer.content)
            if mayCorrectClock, problem.code == "RequestTimeTooSkewed", let offset = offset(answer.head) {
                clockOffset.withLock { $0 = offset }
                mayCorrectClock = false
                continue
            }
            if mayRenew, EngineVerdict.renewableCodes.contains(problem.code) {
                mayRenew = false
                credentials.reject(used)
                if try credentials.current() != used { continue }
            }
            throw EngineVerdict.error(
                call.action, of: address, answer.head, problem, now: clock.utc().seconds)
        }
    }

    /// The difference between the engine's clock and this machine's, in seconds.
    private func offset(_ head: ResponseHead) -> Int64? {
        let now = clock.utc()
        guard let text = head.fields.values("date").first,
            let date = HTTPDate(text, now: HTTPDate(clamping: now.seconds))
        else { return nil }
        return date.seconds.subtractingReportingOverflow(now.seconds).partialValue
    }

    private func exchange(
        _ call: Call, _ credentials: Credentials, _ place: AnswerPlace, _ deadline: Int64
    ) throws(ObjectError) -> HTTPAnswer {
        let path = address.bucketPath + (call.key.map { "/" + $0 } ?? (address.style == .host ? "/" : ""))
        let time = clock.utc().advanced(bySeconds: clockOffset.withLock { $0 })
        let digest = call.digest ?? call.content?.sha256 ?? Self.emptyDigest
        var signed = RequestSigner.Request(
            method: call.method, path: path, query: call.query,
            fields: [
                ("host", pool.origin.hostField), ("x-amz-content-sha256", digest.description),
                ("x-amz-date", RequestSigner.stamp(time)),
            ] + call.fields, payload: digest.description)
        if let token = credentials.token { signed.fields.append(("x-amz-security-token", token)) }
        let fields =
            signed.fields + [
                ("authorization", signer.authorization(signed, credentials, at: time)), ("user-agent", "transfer"),
            ]
        guard let request = OutgoingRequest(call.method, signed.target, fields, content: call.content) else {
            throw ObjectError(.misconfigured, "\(call.action) failed: the request cannot be written.")
        }
        counters.count(call.method, call.content?.size ?? 0)
        do throws(ExchangeFault) {
            let answer = try pool.send(request, into: place, times: times, until: deadline)
            counters.received.add(UInt64(answer.size))
            return answer
        } catch {
            throw failure(call, error)
        }
    }

    private func failure(_ call: Call, _ fault: ExchangeFault) -> ObjectError {
        let reason: ObjectError.Reason
        switch fault.cause {
        case .content(let error): return error
        case .stream(.tls): reason = .untrusted
        case .crowded: reason = .busy
        case .malformed: reason = .damaged
        case .resolution, .stream, .silence: reason = .unreachable
        }
        let advice =
            switch reason {
            case .untrusted: " Check the certificate, or name its issuer with --store-ca."
            case .damaged: " Check that the address is that of an object store."
            default: ""
            }
        return ObjectError(
            reason, "\(call.action) failed: the object store at \(address.endpoint.hostField): \(fault.words).\(advice)"
        )
    }
}

extension ObjectError {
    fileprivate func after(attempts: Int) -> ObjectError {
        ObjectError(reason, "\(message) This was attempt \(attempts).", wait: wait)
    }
}

/// Numbers of requests, for metrics and for tests that bound them.
package final class EngineCounters: Sendable {
    package let puts = Counter()
    package let gets = Counter()
    package let deletes = Counter()
    /// Requests that repeat one that has failed.
    package let repetitions = Counter()
    /// Durations of storing an object, with repetitions and reading it back.
    package let putDurations = DurationHistogram()
    /// Bytes of content in requests and in answers, with those of repetitions.
    package let sent = Counter()
    package let received = Counter()

    func count(_ method: HTTPMethod, _ size: UInt64) {
        switch method {
        case .put: puts.add()
        case .delete: deletes.add()
        default: gets.add()
        }
        sent.add(size)
    }
}
