import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferIO

struct ServiceNotifierTests {
    private func notifier(_ environment: [String: String]) throws -> ServiceNotifier? {
        try ServiceNotifier { environment[$0] }
    }

    @Test func nobodyWantsToKnow() throws {
        #expect(try notifier([:]) == nil)
        #expect(try notifier(["WATCHDOG_USEC": "1000"]) == nil)
    }

    @Test func messagesAsTheManagerReadsThem() throws {
        let home = try TemporaryDirectory()
        for name in [home.path("notify"), "@transfer-test-\(getpid())"] {
            let manager = try NotificationSocket(name)
            let notifier = try #require(try notifier(["NOTIFY_SOCKET": name]))
            notifier.ready("all is well")
            notifier.reloading()
            notifier.alive()
            notifier.stopping("bye")
            #expect(try manager.next() == ["READY=1", "STATUS=all is well"])
            let reloading = try manager.next()
            #expect(reloading.first == "RELOADING=1")
            let time = try #require(reloading.last.flatMap { Int64($0.dropFirst("MONOTONIC_USEC=".count)) })
            #expect((0...monotonicNanoseconds() / 1000).contains(time))
            #expect(try manager.next() == ["WATCHDOG=1"])
            #expect(try manager.next() == ["STOPPING=1", "STATUS=bye"])
        }
    }

    @Test func aManagerThatIsGoneHurtsNobody() throws {
        let home = try TemporaryDirectory()
        var manager: NotificationSocket? = try NotificationSocket(home.path("notify"))
        let notifier = try #require(try notifier(["NOTIFY_SOCKET": home.path("notify")]))
        #expect(manager != nil)
        manager = nil
        notifier.ready("nobody hears")
    }

    @Test(arguments: [
        ("vsock:2:1234", EAFNOSUPPORT), ("relative", EAFNOSUPPORT), ("/nonexistent/notify", ENOENT),
        ("/" + String(repeating: "x", count: 200), EAFNOSUPPORT), ("@transfer-nobody", ECONNREFUSED),
    ])
    func whatCannotBeReached(_ name: String, _ code: Int32) {
        let error = #expect(throws: SystemError.self) { try notifier(["NOTIFY_SOCKET": name]) }
        #expect(error?.errno == code)
    }

    private static let watchdogs: [(environment: [String: String], interval: Int64?)] = [
        ([:], nil), (["WATCHDOG_USEC": "3000000"], 1_500_000_000), (["WATCHDOG_USEC": "0"], nil),
        (["WATCHDOG_USEC": "x"], nil), (["WATCHDOG_USEC": "1"], 1_000_000), (["WATCHDOG_USEC": "\(Int64.max)"], nil),
        (["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"], nil),
        (["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "\(getpid())"], 1_500_000_000),
    ]

    @Test(arguments: watchdogs)
    func theWatchdog(_ environment: [String: String], _ interval: Int64?) throws {
        let home = try TemporaryDirectory()
        let manager = try NotificationSocket(home.path("notify"))
        let notifier = try #require(
            try notifier(environment.merging(["NOTIFY_SOCKET": manager.name]) { first, _ in first }))
        #expect(notifier.watchdogInterval == interval)
    }
}
