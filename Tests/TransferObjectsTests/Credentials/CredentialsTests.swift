import Testing
import TransferHTTP
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferObjects

@Suite(.timeLimit(.minutes(10))) struct CredentialsTests {
    @Test(
        arguments: [
            ("", "S", nil), ("K", "", nil), ("K K", "S", nil), ("K", "S\n", nil), ("K", "S", ""), ("K", "S", "ä"),
            ("K/1", "S", nil), ("K,Signature=", "S", nil),
        ] as [(String, String, String?)])
    func refusesWhatCannotBeSent(key: String, secret: String, token: String?) {
        #expect(Credentials(accessKey: key, secret: secret, token: token) == nil)
    }

    @Test func showsNoSecret() throws {
        let credentials = try #require(Credentials(accessKey: "K", secret: "SECRET", token: "TOKEN"))
        #expect("\(credentials)" == "credentials K")
    }

    @Test func aConfinedProcessNeedsPorts() throws {
        #expect(CredentialSource.file(path: "/f", profile: "p").ports == [])
        #expect(CredentialSource.instance(endpoint: "http://169.254.169.254").ports == [80])
        let variables = ["AWS_WEB_IDENTITY_TOKEN_FILE": "/t", "AWS_ROLE_ARN": "arn"]
        #expect(try CredentialSource.chosen(variables, region: "eu-west-1").ports == [443])
    }

    // MARK: File

    private static let file = """
        # comment
        [default]
        aws_access_key_id = A
        AWS_SECRET_ACCESS_KEY=B=/+
        ; comment = x

        [ other ]\r
        aws_access_key_id=C
        aws_secret_access_key = D\t
        aws_session_token = E
        region = x
        [empty]
        aws_access_key_id = F
        """

    @Test func readsProfiles() {
        let text = Array(Self.file.utf8)
        #expect(
            CredentialsFile.credentials(in: text, profile: "default") == Credentials(accessKey: "A", secret: "B=/+"))
        #expect(
            CredentialsFile.credentials(in: text, profile: "other")
                == Credentials(accessKey: "C", secret: "D", token: "E"))
        #expect(CredentialsFile.credentials(in: text, profile: "empty") == nil)
        #expect(CredentialsFile.credentials(in: text, profile: "missing") == nil)
        #expect(CredentialsFile.credentials(in: [0xFF, 0x5B, 0x3D, 0x0A, 0x5B], profile: "") == nil)
    }

    @Test func reportsUnusableFiles() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("credentials")
        let source = CredentialSource.file(path: path, profile: "p")
        #expect(
            failure { () throws(ObjectError) in _ = try source.fetch() }?.message.contains("does not exist") == true)
        try writeText("[q]\n", to: path)
        #expect(failure { () throws(ObjectError) in _ = try source.fetch() }?.message.contains("profile 'p'") == true)
        try writeText("[p]\naws_access_key_id=A\naws_secret_access_key=B", to: path)
        #expect(try source.fetch() == Credentials(accessKey: "A", secret: "B"))
        #expect(source.files == [path])
    }

    // MARK: Choice

    private static func chosen(_ environment: [String: String]) throws -> String {
        switch try CredentialSource.chosen(environment, region: "eu-west-1") {
        case .fixed(let credentials): "fixed \(credentials.accessKey) \(credentials.token ?? "-")"
        case .file(let path, let profile): "file \(path) \(profile)"
        case .container(let service): "container \(service.address) \(service.token ?? "-")"
        case .webIdentity(let identity): "web \(identity.role) \(identity.session) \(identity.service)"
        case .instance(let endpoint): "instance \(endpoint)"
        }
    }

    @Test(arguments: [
        (["AWS_ACCESS_KEY_ID": "K", "AWS_SECRET_ACCESS_KEY": "S", "AWS_PROFILE": "p"], "fixed K -"),
        (["AWS_ACCESS_KEY_ID": "K", "AWS_SECRET_ACCESS_KEY": "S", "AWS_SESSION_TOKEN": "T"], "fixed K T"),
        (["AWS_ACCESS_KEY_ID": "K", "AWS_PROFILE": "p", "HOME": "/h"], "file /h/.aws/credentials p"),
        (["AWS_SHARED_CREDENTIALS_FILE": "/f", "HOME": "/h"], "file /f default"),
        (
            ["AWS_WEB_IDENTITY_TOKEN_FILE": "/t", "AWS_ROLE_ARN": "arn", "AWS_PROFILE": ""],
            "web arn transfer https://sts.eu-west-1.amazonaws.com"
        ),
        (
            [
                "AWS_WEB_IDENTITY_TOKEN_FILE": "/t", "AWS_ROLE_ARN": "arn", "AWS_ROLE_SESSION_NAME": "n",
                "AWS_ENDPOINT_URL_STS": "http://s",
            ], "web arn n http://s"
        ),
        (["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/c"], "container http://169.254.170.2/v2/c -"),
        (
            [
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.23/v1",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN": "T",
            ], "container http://169.254.170.23/v1 T"
        ),
        ([:], "instance http://169.254.169.254"), (["HOME": "/no/such/folder"], "instance http://169.254.169.254"),
        (["AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://[fd00:ec2::254]"], "instance http://[fd00:ec2::254]"),
    ])
    func choosesTheSource(environment: [String: String], source: String) throws {
        #expect(try Self.chosen(environment) == source)
    }

    @Test(arguments: [
        ["AWS_EC2_METADATA_DISABLED": "TRUE"], ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://far.example/"],
        ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1.far.example/"],
        ["AWS_ACCESS_KEY_ID": "K K", "AWS_SECRET_ACCESS_KEY": "S"],
    ])
    func refuses(environment: [String: String]) {
        #expect(throws: ObjectError.self) { try Self.chosen(environment) }
    }

    // MARK: Services

    private static let json = """
        {"Code":"Success","AccessKeyId":"A","SecretAccessKey":"B","Token":"T","Expiration":"2030-01-02T03:04:05Z"}
        """

    private static let expected = Credentials(
        accessKey: "A", secret: "B", token: "T", expires: UTCTime("2030-01-02T03:04:05Z"))

    @Test func asksTheContainersService() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("token")
        try writeText("SECRET\n", to: file)
        try await withServer { connection in
            guard let request = connection.read() else { return }
            let isRight = request.path == "/v2/c" && request.fields["authorization"] == "SECRET"
            connection.answer(isRight ? 200 : 403, Self.json)
        } _: { server in
            let service = CredentialSource.ContainerService(
                address: "\(server.url)/v2/c", token: "OTHER", tokenFile: file)
            let found = try CredentialSource.container(service).fetch()
            #expect(found == Self.expected)
            #expect(CredentialSource.container(service).files == [file])
        }
    }

    @Test func asksTheInstanceService() async throws {
        try await withServer { connection in
            guard let request = connection.read() else { return }
            let token = request.fields["x-aws-ec2-metadata-token"]
            switch (request.method, request.path, token) {
            case ("PUT", "/latest/api/token", nil): connection.answer(200, "TOKEN")
            case ("GET", "/latest/meta-data/iam/security-credentials/", "TOKEN"): connection.answer(200, "my-role\n")
            case ("GET", "/latest/meta-data/iam/security-credentials/my-role", "TOKEN"):
                connection.answer(200, Self.json)
            default: connection.answer(401, "")
            }
        } _: { server in
            let found = try CredentialSource.instance(endpoint: server.url).fetch()
            #expect(found == Self.expected)
        }
    }

    @Test func exchangesAWebIdentity() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("token")
        try writeText("a.b+c\n", to: file)
        let form =
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam&RoleSessionName=n"
            + "&WebIdentityToken=a.b%2Bc"
        let answer = """
            <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
            <AssumeRoleWithWebIdentityResult><Audience>x</Audience><Credentials><SessionToken>T</SessionToken>
            <SecretAccessKey>B</SecretAccessKey><Expiration>2030-01-02T03:04:05.678Z</Expiration>
            <AccessKeyId>A</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult>
            </AssumeRoleWithWebIdentityResponse>
            """
        try await withServer { connection in
            guard let request = connection.read() else { return }
            let isRight = request.method == "POST" && request.content == Array(form.utf8)
            connection.answer(isRight ? 200 : 400, answer)
        } _: { server in
            let identity = CredentialSource.WebIdentity(
                tokenFile: file, role: "arn:aws:iam", session: "n", service: server.url)
            let found = try CredentialSource.webIdentity(identity).fetch()
            #expect(found == Self.expected)
        }
    }

    @Test(arguments: [
        (200, "", ObjectError.Reason.refused), (200, "{}", .refused), (200, "[1", .refused),
        (200, #"{"AccessKeyId":"A","SecretAccessKey":"B","Expiration":"soon"}"#, .refused),
        (200, #"{"AccessKeyId":"A A","SecretAccessKey":"B","Expiration":"2030-01-02T03:04:05Z"}"#, .refused),
        (200, String(repeating: "x", count: 40_000), .unreachable), (404, "", .refused), (500, "", .busy),
    ])
    func refusesAnswers(status: Int, content: String, reason: ObjectError.Reason) async throws {
        try await withServer { connection in
            _ = connection.read()
            connection.answer(status, content)
        } _: { server in
            let source = CredentialSource.container(.init(address: server.url))
            #expect(failure { () throws(ObjectError) in _ = try source.fetch() }?.reason == reason)
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct CredentialCacheTests {
    /// Seconds since 1970 of a test's clock, and the fetched credentials.
    private final class Service: Sendable {
        let time = Locked<Int64>(1_000_000)
        let fetched = Tally()
        let fails = Locked(false)
        /// Seconds for which credentials are valid; nil for ever.
        let life: Int64?
        /// Called by each fetch.
        let hook: @Sendable () -> Void

        init(life: Int64?, hook: @escaping @Sendable () -> Void = {}) { (self.life, self.hook) = (life, hook) }

        func cache() -> CredentialCache {
            CredentialCache(utc: { [self] in UTCTime(clamping: time.withLock { $0 }) }) {
                [self] () throws(ObjectError) in
                let number = fetched.next()
                hook()
                let expires = life.map { life in UTCTime(clamping: time.withLock { $0 } + life) }
                guard !fails.withLock({ $0 }),
                    let made = Credentials(accessKey: "K\(number)", secret: "S", expires: expires)
                else { throw ObjectError(.unreachable, "Words.") }
                return made
            }
        }

        func advance(_ seconds: Int64) { time.withLock { $0 += seconds } }
    }

    @Test func fetchesPermanentCredentialsOnce() throws {
        let service = Service(life: nil)
        let cache = service.cache()
        for _ in 0..<3 { #expect(try cache.current().accessKey == "K0") }
        service.advance(1_000_000_000)
        #expect(try cache.current().accessKey == "K0")
    }

    @Test func renewsBeforeTheEnd() throws {
        let service = Service(life: 3600)
        let cache = service.cache()
        #expect(try cache.current().accessKey == "K0")
        service.advance(3600 - CredentialCache.margin - 1)
        #expect(try cache.current().accessKey == "K0")
        service.advance(1)
        #expect(try cache.current().accessKey == "K1")
    }

    @Test func usesOldCredentialsToTheirEndIfRenewingFails() throws {
        let service = Service(life: 3600)
        let cache = service.cache()
        _ = try cache.current()
        service.fails.withLock { $0 = true }
        service.advance(3600 - CredentialCache.margin)
        #expect(try cache.current().accessKey == "K0")
        #expect(try cache.current().accessKey == "K0")
        // The second call did not ask again; after a pause one does.
        #expect(service.fetched.value == 2)
        service.advance(CredentialCache.pause)
        #expect(try cache.current().accessKey == "K0")
        #expect(service.fetched.value == 3)
        service.advance(CredentialCache.margin)
        #expect(throws: ObjectError(.unreachable, "Words.")) { try cache.current() }
        service.fails.withLock { $0 = false }
        #expect(try cache.current().accessKey == "K4")
    }

    @Test func fetchesOthersForRefusedOnes() throws {
        let service = Service(life: nil)
        let cache = service.cache()
        let first = try cache.current()
        cache.reject(first)
        let second = try cache.current()
        #expect(second.accessKey == "K1")
        // Only the present ones can be refused.
        cache.reject(first)
        #expect(try cache.current() == second)
    }

    @Test func othersUseTheOldOnesWhileOneThreadRenews() async throws {
        let (begun, goOn) = (Event(), Event())
        let isFirst = Tally()
        let service = Service(life: 3600) {
            guard isFirst.next() == 1 else { return }
            begun.fire()
            goOn.wait()
        }
        let cache = service.cache()
        _ = try cache.current()
        service.advance(3600 - 1)
        let renewed = Locked<String?>(nil)
        let thread = TestThread { renewed.withLock { $0 = try? cache.current().accessKey } }
        try await TestThread.run {
            begun.wait()
            let old = try cache.current().accessKey
            #expect(old == "K0")
            goOn.fire()
            thread.join()
        }
        #expect(renewed.withLock { $0 } == "K1")
        #expect(try cache.current().accessKey == "K1")
    }

    @Test(arguments: [true, false]) func manyThreadsFetchTheFirstOnesOnce(fails: Bool) async throws {
        let goOn = Event()
        let service = Service(life: nil) { goOn.wait() }
        service.fails.withLock { $0 = fails }
        let cache = service.cache()
        let results = Locked<[String]>([])
        let threads = (0..<8).map { _ in
            TestThread {
                let key = (try? cache.current().accessKey) ?? "none"
                results.withLock { $0.append(key) }
            }
        }
        try await TestThread.run {
            goOn.fire()
            for thread in threads { thread.join() }
        }
        #expect(Set(results.withLock { $0 }) == [fails ? "none" : "K0"])
        #expect(fails || service.fetched.value == 1)
    }
}
