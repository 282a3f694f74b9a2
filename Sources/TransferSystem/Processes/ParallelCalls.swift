import Glibc
import Synchronization

/// Calls `body` with every number below `count`, on up to `threads` threads including this one, and returns after all
/// calls. Useful if each call mostly waits for a disk that is faster with many requests at a time.
package func inParallel(on threads: Int, _ count: Int, _ body: @Sendable (Int) -> Void) {
    withoutActuallyEscaping(body) { body in
        let work = ParallelWork(count: count, body: body)
        var others: [pthread_t] = []
        for _ in 1..<max(1, min(threads, count)) {
            var thread = pthread_t()
            // If no more threads can be started, fewer do all the work and take longer.
            guard pthread_create(&thread, nil, runParallelWork, Unmanaged.passUnretained(work).toOpaque()) == 0 else {
                break
            }
            others.append(thread)
        }
        work.run()
        for thread in others { pthread_join(thread, nil) }
    }
}

private final class ParallelWork: Sendable {
    private let count: Int
    private let next = Atomic(0)
    private let body: @Sendable (Int) -> Void

    init(count: Int, body: @escaping @Sendable (Int) -> Void) {
        self.count = count
        self.body = body
    }

    func run() {
        while true {
            let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
            guard number < count else { return }
            body(number)
        }
    }
}

private func runParallelWork(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<ParallelWork>.fromOpaque(context).takeUnretainedValue().run()
    return nil
}
