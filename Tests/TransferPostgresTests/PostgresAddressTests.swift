import Testing

@testable import TransferPostgres

/// Addresses, their defaults, and the password that no text shows.
@Suite(.enabled(if: (try? PostgresLibrary.installed.get()) != nil, "libpq is not installed"))
struct PostgresAddressTests {
    private static let secret = "s3cr%3At%22"

    private static func options(_ uri: String, host: Int = 0) throws -> [String: String] {
        var options: [String: String] = [:]
        for (name, value) in try PostgresAddress(uri).parameters(forHost: host) { options[name] = value }
        return options
    }

    @Test func absentOptionsGetDefaults() throws {
        let options = try Self.options("postgres://u@h/d")
        #expect(options["target_session_attrs"] == "read-write" && options["application_name"] == "transfer")
        #expect(options["keepalives_idle"] == "30" && options["tcp_user_timeout"] == "30000")
        #expect(options["client_encoding"] == "UTF8" && options["host"] == "h" && options["port"] == nil)
        #expect(try PostgresAddress("postgres://u@h/d").connectTimeout == 5_000_000_000)
        #expect(try PostgresAddress("postgres://u@h/d").requiresChanges)
    }

    @Test func optionsOfTheAddressStay() throws {
        let uri =
            "postgresql://h/d?target_session_attrs=any&application_name=x&keepalives_idle=7&client_encoding=LATIN1"
        let options = try Self.options(uri)
        #expect(options["target_session_attrs"] == "any" && options["application_name"] == "x")
        #expect(options["keepalives_idle"] == "7" && options["client_encoding"] == "UTF8")
        #expect(try !PostgresAddress(uri).requiresChanges)
    }

    @Test(arguments: [("2", 2), ("0", 5), ("-3", 5), ("99999999999999999999", 5), ("x", 5)])
    func theTimeToConnectIsBounded(_ written: String, _ seconds: Int64) throws {
        #expect(
            try PostgresAddress("postgres://h/d?connect_timeout=\(written)").connectTimeout == seconds * 1_000_000_000)
    }

    @Test func aConfinedProcessNeedsPortsAndFiles() throws {
        let address = try PostgresAddress("postgres://h:7,i/d?sslrootcert=/ca.pem&passfile=/pass")
        #expect(address.ports == [7, 5432])
        #expect(address.files.prefix(2) == ["/pass", "/ca.pem"])
    }

    @Test func eachHostHasItsPort() throws {
        let uri = "postgres://u@a:1,[::1]:2,c:3/d"
        #expect(try PostgresAddress(uri).hostCount == 3)
        #expect(try Self.options(uri, host: 1)["host"] == "::1" && Self.options(uri, host: 2)["port"] == "3")
        #expect(try Self.options("postgres://a,b/d?port=7", host: 1)["port"] == "7")
        #expect(try PostgresAddress(uri).description == "postgres://u@a:1,::1:2,c:3/d")
        #expect(try Self.options("postgres:///d?host=/x,/y", host: 1)["host"] == "/y")
    }

    @Test(arguments: ["postgres://a,b/d?port=1,2,3", "postgres://a,b/d?hostaddr=127.0.0.1"])
    func listsOfOtherLengthsAreRefused(_ uri: String) {
        let error = #expect(throws: PostgresError.self) { try PostgresAddress(uri) }
        #expect(error?.reason == .badAddress)
    }

    @Test(arguments: [
        "", "host=h password=\(secret)", "http://u:\(secret)@h", "postgres://u:\(secret)%zz@h/d",
        "postgres://u:\(secret)@[h",
        "postgres://h/d?\(secret)=1", "postgres://u:\(secret)@h/d?x", "postgres://u@h/d\0",
        "postgres://u:\(secret)@h:port:9/d?=&",
    ])
    func errorsDoNotShowThePassword(_ uri: String) {
        let error = #expect(throws: PostgresError.self) { try PostgresAddress(uri) }
        #expect(error?.message.contains("s3cr") == false && error?.message.contains("postgres://USER") == true)
        #expect(error?.reason == .badAddress)
    }

    @Test func descriptionsDoNotShowThePassword() throws {
        let address = try PostgresAddress("postgres://u:\(Self.secret)@h/d?sslpassword=pss")
        var dumped = ""
        dump(address, to: &dumped)
        for text in ["\(address)", String(reflecting: address), dumped, "\(PostgresConfiguration(address))"] {
            #expect(!text.contains("s3cr") && !text.contains("pss"))
        }
        #expect(address.redacted("for s3cr:t\" and pss") == "for … and …")
        #expect(address.parameters(forHost: 0).contains { $0 == ("password", "s3cr:t\"") })
        #expect(address.parameters(forHost: 9).contains { $0.name == "host" } == false)
    }

    // MARK: Refusals

    static let refusals: [(said: String, reason: PostgresError.Reason, code: String?)] = [
        (
            "connection to server at \"h\", port 1 failed: FATAL:  28P01: password authentication failed for user \"u\"\n"
                + "LOCATION:  auth_failed, auth.c:338", .credentials, "28P01"
        ),
        ("connection failed: FATAL:  3D000: database \"d\" does not exist", .noDatabase, "3D000"),
        ("connection failed: FATAL:  57P03: the database system is starting up", .unavailable, "57P03"),
        ("connection failed: FATAL:  53300: sorry, too many clients already", .full, "53300"),
        ("connection failed: FATAL:  42704: unrecognized", .unavailable, "42704"),
        ("connection failed: Connection refused", .unavailable, nil),
        ("connection failed: session is read-only", .readOnly, nil),
        ("FATAL:  28p01: no", .unavailable, nil), ("FATAL:  28P0", .unavailable, nil), (":  ", .unavailable, nil),
        ("", .unavailable, nil),
    ]

    @Test(arguments: refusals.indices) func refusalsHaveReasons(_ index: Int) {
        let (said, reason, code) = Self.refusals[index]
        let error = PostgresRefusal.error(said, needsPassword: false, host: "h:1")
        #expect(error.reason == reason && error.sqlState == code)
        #expect(error.message.hasPrefix("h:1: ") && !error.message.contains("LOCATION"))
    }

    @Test func aMissingPasswordIsOneOfCredentials() {
        #expect(PostgresRefusal.error("no password", needsPassword: true, host: "h").reason == .credentials)
    }

    @Test func theErrorWithTheMostToSayIsReported() {
        let away = PostgresError(.unavailable, "A.")
        let standby = PostgresError(.readOnly, "B.")
        let refused = PostgresError(.credentials, "C.")
        #expect(PostgresConnector.combined([standby]) == standby)
        #expect(PostgresConnector.combined([away, refused, standby]) == refused)
        #expect(PostgresConnector.combined([away, standby]).message.contains("A. B."))
        #expect(PostgresConnector.combined([away, standby]).reason == .unavailable)
    }
}
