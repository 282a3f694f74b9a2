import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferPostgres

/// The opening of libpq.
@Suite struct PostgresLibraryTests {
    @Test func withoutTheLibraryTheErrorNamesThePackage() {
        #expect(throws: LibraryRefusal.absent) { try PostgresLibrary(path: "libpq.so.missing") }
        let error = PostgresLibrary.error(.absent)
        #expect(error.reason == .missingLibrary)
        #expect(error.message.contains("libpq5"))
    }

    @Test func anotherLibraryIsUnfit() {
        #expect(throws: LibraryRefusal.unfit("it lacks PQclear")) { try PostgresLibrary(path: "libc.so.6") }
    }

    @Test(arguments: [Int32.min, 0, 130_022, 139_999]) func olderVersionsAreUnfit(_ version: Int32) throws {
        let refusal = try #require(throws: LibraryRefusal.self) { try PostgresLibrary.examine(version: version) }
        #expect(PostgresLibrary.error(refusal).message.contains("\(version)"))
    }

    @Test(arguments: [Int32(140_000), 150_018, .max]) func newerVersionsAreAccepted(_ version: Int32) throws {
        try PostgresLibrary.examine(version: version)
    }
}
