import Glibc
import Testing
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferAccess

/// A queue in which every place is taken until `release`.
final class BusyQueue {
    private let gate = Monitor(false)
    private var threads: [TestThread] = []

    /// Returns when all places are taken.
    init(_ queue: HashingQueue) {
        let count = HashingQueue.mostRunning + HashingQueue.mostWaiting
        threads = (0..<count).map { number in
            // Each secret comes from a different network.
            TestThread { [gate] in
                _ = queue.isRight("\(number)", of: "\(number)", from: PeerNetwork(ipv4: UInt32(100 + number))) {
                    gate.pass()
                }
            }
        }
        while !queue.isFull(for: PeerNetwork(ipv4: 1)) { sched_yield() }
    }

    func release() {
        gate.open()
        for thread in threads { thread.join() }
    }
}

extension Monitor<Bool> {
    /// Waits until the gate is open.
    fileprivate func pass() -> Bool {
        lock()
        defer { unlock() }
        while !state { wait() }
        return true
    }

    fileprivate func open() {
        withLock { state = true }
        wakeAll()
    }
}

@Suite struct HashingQueueTests {
    private let queue = HashingQueue()

    @Test(arguments: [true, false]) func saysWhatCameOfIt(isRight: Bool) {
        #expect(queue.isRight("a", of: "a", from: nil) { isRight } == isRight)
        // A later check does not reuse the earlier result.
        #expect(queue.isRight("a", of: "a", from: nil) { !isRight } == !isRight)
    }

    /// A secret that arrives while others are hashed waits for its turn.
    @Test func anotherSecretWaits() {
        let gate = Monitor(false)
        let running = (0..<HashingQueue.mostRunning).map { number in
            TestThread { [queue] in _ = queue.isRight("\(number)", of: "\(number)", from: nil) { gate.pass() } }
        }
        let answer = Locked<Bool?>(nil)
        let waiting = TestThread { [queue] in
            let isRight = queue.isRight("other", of: "other", from: nil) { true }
            answer.withLock { $0 = isRight }
        }
        gate.open()
        for thread in running + [waiting] { thread.join() }
        #expect(answer.withLock { $0 } == true)
    }

    /// Guesses from one address leave places to others.
    @Test func oneNetworkDoesNotTakeAllPlaces() {
        let (gate, network) = (Monitor(false), PeerNetwork(ipv4: 1))
        let count = HashingQueue.mostRunning + HashingQueue.mostOfNetwork
        let guesses = (0..<count).map { number in
            TestThread { [queue] in _ = queue.isRight("\(number)", of: "\(number)", from: network) { gate.pass() } }
        }
        while !queue.isFull(for: network) { sched_yield() }
        #expect(queue.isRight("one more", of: "one more", from: network) { true } == nil)
        #expect(!queue.isFull(for: PeerNetwork(ipv4: 2)))
        gate.open()
        for thread in guesses { thread.join() }
        #expect(queue.isRight("one more", of: "one more", from: network) { true } == true)
    }

    /// Guesses at one token from many addresses leave places to others.
    @Test func oneTokenDoesNotTakeAllPlaces() {
        let gate = Monitor(false)
        let guesses = (0..<HashingQueue.mostRunning + HashingQueue.mostOfToken).map { number in
            TestThread { [queue] in
                _ = queue.isRight("\(number)", of: "one", from: PeerNetwork(ipv4: UInt32(100 + number))) { gate.pass() }
            }
        }
        while !queue.isFull(for: PeerNetwork(ipv4: 1), "one") { sched_yield() }
        #expect(queue.isRight("one more", of: "one", from: PeerNetwork(ipv4: 1)) { true } == nil)
        #expect(!queue.isFull(for: PeerNetwork(ipv4: 1), "another"))
        gate.open()
        for thread in guesses { thread.join() }
        #expect(queue.isRight("one more", of: "one", from: PeerNetwork(ipv4: 1)) { true } == true)
    }

    /// One secret on many connections leaves threads to known clients.
    @Test func soManyConnectionsWaitForOneResult() {
        let answers = Locked<[Bool?]>([])
        let (gate, refused) = (Monitor(false), 23)
        let threads = (0..<1 + HashingQueue.mostJoined + refused).map { _ in
            TestThread { [queue] in
                let answer = queue.isRight("one", of: "one", from: nil) { gate.pass() }
                answers.withLock { $0.append(answer) }
            }
        }
        while answers.withLock({ $0.count }) < refused { sched_yield() }
        #expect(answers.withLock { $0 }.allSatisfy { $0 == nil })
        gate.open()
        for thread in threads { thread.join() }
        #expect(answers.withLock { $0.count { $0 == true } } == 1 + HashingQueue.mostJoined)
    }

    @Test func thereIsAnEnd() {
        let busy = BusyQueue(queue)
        #expect(queue.isRight("one more", of: "one more", from: PeerNetwork(ipv4: 1)) { true } == nil)
        busy.release()
        #expect(queue.isRight("one more", of: "one more", from: PeerNetwork(ipv4: 1)) { true } == true)
    }
}
