import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferPostgres

/// The cost of transactions, printed if TRANSFER_MEASURE is set: figures of one machine, which no test compares.
@Suite(
    .enabled(if: PostgresServer.isInstalled, Comment(rawValue: PostgresServer.advice)),
    .enabled(if: getenv("TRANSFER_MEASURE") != nil, "TRANSFER_MEASURE is not set"))
struct PostgresMeasurement {
    @Test(arguments: [1, 16, 256, 1024]) func transactions(_ rows: Int) throws {
        let pool = try PostgresServer.shared.get().pool()
        defer { pool.close() }
        try pool.change("CREATE TABLE t (id int8 PRIMARY KEY, name bytea NOT NULL, digest bytea NOT NULL, folder int8)")
        let statement = "INSERT INTO t SELECT * FROM unnest($1::int8[], $2::bytea[], $3::bytea[], $4::int8[])"
        let digest = SplitMix64.bytes(seed: 1, 32)
        let count = 200
        var times: [Int64] = []
        let trips = pool.counters.roundTrips.value
        for round in 0..<count {
            let ids = (0..<rows).map { Int64(round * rows + $0) }
            let start = monotonicNanoseconds()
            try pool.change(
                statement,
                [
                    .integers(ids), .byteStrings(ids.map { Array("name-\($0).jpg".utf8) }),
                    .byteStrings(ids.map { _ in digest }), .integers(ids.map { $0 % 7 == 0 ? nil : $0 }),
                ])
            times.append(monotonicNanoseconds() - start)
        }
        times.sort()
        let each = Double(pool.counters.roundTrips.value - trips) / Double(count)
        print(
            "\(rows) rows: median \(times[count / 2] / 1000) µs, 99 % \(times[count * 99 / 100] / 1000) µs, \(each) trips"
        )
        #expect(each == 1)
    }

    /// The time of a pool and a connection alone.
    @Test func roundTrip() throws {
        let pool = try PostgresServer.shared.get().pool()
        defer { pool.close() }
        var times: [Int64] = []
        for _ in 0..<500 {
            let start = monotonicNanoseconds()
            _ = try pool.read { (transaction) throws(PostgresError) in
                try transaction.finish([PostgresStatement("SELECT 1::int8")])
            }
            times.append(monotonicNanoseconds() - start)
        }
        times.sort()
        print("read: median \(times[250] / 1000) µs, 99 % \(times[495] / 1000) µs")
    }
}
